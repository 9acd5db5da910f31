// Graphs as text for people: the DOT language.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "engine/graph.h"
#include "engine/kernel.h"

namespace infinirt {

namespace {

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

const char* colour(enum infinirtGraphNodeType type) {
  switch (type) {
    case infinirtGraphNodeTypeKernel:
      return "#cfe8cf";
    case infinirtGraphNodeTypeMemcpy:
      return "#cfdff5";
    case infinirtGraphNodeTypeMemset:
      return "#dcd6f2";
    case infinirtGraphNodeTypeHost:
      return "#f7e7c4";
    case infinirtGraphNodeTypeGraph:
      return "#e6e6e6";
    case infinirtGraphNodeTypeWaitEvent:
    case infinirtGraphNodeTypeEventRecord:
      return "#f5d0d0";
    case infinirtGraphNodeTypeMemAlloc:
    case infinirtGraphNodeTypeMemFree:
      return "#d0eef0";
    default:
      return "#ffffff";
  }
}

const char* kind_text(enum infinirtMemcpyKind kind) {
  switch (kind) {
    case infinirtMemcpyHostToHost:
      return "host to host";
    case infinirtMemcpyHostToDevice:
      return "host to device";
    case infinirtMemcpyDeviceToHost:
      return "device to host";
    case infinirtMemcpyDeviceToDevice:
      return "device to device";
    default:
      return "default";
  }
}

// Quotes and backslashes would end the label early; line breaks are ours.
std::string escaped(const std::string& label) {
  std::string out;
  for (char c : label) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string kernel_lines(const NodeBody& body, bool detail, bool attributes, const GraphNode& node) {
  const KernelWork& work = body.work.kernel;
  std::string label = "\n" + work.kernel->name;
  label += text("\n<<<(%u, %u, %u), (%u, %u, %u), %u>>>", work.grid[0], work.grid[1], work.grid[2], work.block[0],
                work.block[1], work.block[2], work.shared_bytes);
  if (detail) label += text("\n%zu parameters, %zu bytes", work.kernel->sizes.size(), work.kernel->args_bytes);
  if (attributes) {
    for (const auto& attribute : node.attributes) label += text("\nattribute %d set", static_cast<int>(attribute.id));
  }
  return label;
}

std::string label_of(const GraphNode& node, unsigned flags) {
  const bool all = flags & infinirtGraphDebugDotFlagsVerbose;
  const auto wants = [&](unsigned flag) { return all || (flags & flag); };
  const NodeBody& body = *node.body;
  std::string label = text("%zu: %s", node.position, node_type_name(body.type));
  switch (body.type) {
    case infinirtGraphNodeTypeKernel:
      label += kernel_lines(body, wants(infinirtGraphDebugDotFlagsKernelNodeParams),
                            wants(infinirtGraphDebugDotFlagsKernelNodeAttributes), node);
      break;
    case infinirtGraphNodeTypeMemcpy: {
      const auto& params = std::get<infinirtMemcpy3DParms>(body.params);
      const auto& extent = params.extent;
      label += text("\n%s, %zu x %zu x %zu bytes", kind_text(params.kind), extent.width, extent.height, extent.depth);
      if (wants(infinirtGraphDebugDotFlagsMemcpyNodeParams)) {
        label += text("\nfrom %p (pitch %zu)\nto %p (pitch %zu)", params.srcPtr.ptr, params.srcPtr.pitch,
                      params.dstPtr.ptr, params.dstPtr.pitch);
      }
      break;
    }
    case infinirtGraphNodeTypeMemset: {
      const auto& params = std::get<infinirtMemsetParams>(body.params);
      label += text("\n%zu x %zu elements of %u bytes", params.width, params.height, params.elementSize);
      if (wants(infinirtGraphDebugDotFlagsMemsetNodeParams)) {
        label += text("\nat %p (pitch %zu), value 0x%x", params.dst, params.pitch, params.value);
      }
      break;
    }
    case infinirtGraphNodeTypeHost: {
      const auto& params = std::get<infinirtHostNodeParams>(body.params);
      if (wants(infinirtGraphDebugDotFlagsHostNodeParams)) {
        label += text("\nfunction %p, data %p", reinterpret_cast<void*>(params.fn), params.userData);
      }
      break;
    }
    case infinirtGraphNodeTypeWaitEvent:
    case infinirtGraphNodeTypeEventRecord:
      if (wants(infinirtGraphDebugDotFlagsEventNodeParams)) {
        label += text("\nevent %p", static_cast<void*>(std::get<infinirtEvent_t>(body.params)));
      }
      break;
    case infinirtGraphNodeTypeMemAlloc:
      label += text("\n%zu bytes at %p", body.allocation->size, body.allocation->block->pointer);
      break;
    case infinirtGraphNodeTypeMemFree:
      label += text("\n%p", body.allocation->block->pointer);
      break;
    case infinirtGraphNodeTypeGraph:
      label += text("\n%zu nodes", node.child ? node.child->nodes.size() : 0);
      break;
    default:
      break;
  }
  if (wants(infinirtGraphDebugDotFlagsHandles)) label += text("\nhandle %p", static_cast<void*>(node.handle));
  return label;
}

void write_level(std::FILE* file, const Graph& graph, unsigned flags, int depth) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  const char* in = indent.c_str();
  for (const GraphNode* node : graph.nodes) {
    std::fprintf(file, "%sn%llu [label=\"%s\", fillcolor=\"%s\"];\n", in, static_cast<unsigned long long>(node->id),
                 escaped(label_of(*node, flags)).c_str(), colour(node->body->type));
    if (!node->child || node->child->nodes.empty()) continue;
    std::fprintf(file, "%ssubgraph cluster_%llu {\n%s  label=\"child graph of node %zu\";\n", in,
                 static_cast<unsigned long long>(node->id), in, node->position);
    write_level(file, *node->child, flags, depth + 1);
    std::fprintf(file, "%s}\n", in);
    for (const GraphNode* inner : node->child->nodes) {
      if (!inner->dependencies.empty()) continue;
      std::fprintf(file, "%sn%llu -> n%llu [style=dashed];\n", in, static_cast<unsigned long long>(node->id),
                   static_cast<unsigned long long>(inner->id));
    }
  }
  for (const GraphNode* node : graph.nodes) {
    for (const GraphNode* dependent : node->dependents) {
      std::fprintf(file, "%sn%llu -> n%llu;\n", in, static_cast<unsigned long long>(node->id),
                   static_cast<unsigned long long>(dependent->id));
    }
  }
}

}  // namespace

infinirtError_t write_graph_dot(const Graph& graph, const char* path, unsigned flags) {
  std::FILE* file = std::fopen(path, "w");
  if (!file) {
    return fail(infinirtErrorOperatingSystem, "path '%s' cannot be written: %s", path, std::strerror(errno));
  }
  std::fprintf(file, "digraph graph_%llu {\n  rankdir=TB;\n  node [shape=box, style=filled, fontname=\"monospace\"];\n",
               static_cast<unsigned long long>(graph.id));
  write_level(file, graph, flags, 1);
  std::fprintf(file, "}\n");
  const bool bad = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || bad) {
    return fail(infinirtErrorOperatingSystem, "path '%s' was not written completely: %s", path, std::strerror(errno));
  }
  return infinirtSuccess;
}

}  // namespace infinirt
