#include "core/compiled.h"

#include <cstdint>
#include <cstring>

#include "core/backend.h"
#include "core/error.h"
#include "core/handle.h"
#include "core/object_pool.h"
#include "infinirt_ext.h"

namespace infinirt {

namespace {

ObjectPool<Compiled>& pool() {
  static auto* instance = new ObjectPool<Compiled>;
  return *instance;
}

void put(std::string& bytes, const std::string& part) {
  const uint64_t size = part.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += part;
}

bool take(const std::string& bytes, size_t* at, std::string* part) {
  uint64_t size = 0;
  if (bytes.size() - *at < sizeof size) return false;
  std::memcpy(&size, bytes.data() + *at, sizeof size);
  *at += sizeof size;
  if (bytes.size() - *at < size) return false;
  part->assign(bytes, *at, size);
  *at += size;
  return true;
}

// No device is looked for: compiling needs none, and a process that only compiles may fork.
const Backend* choose(const char* type) {
  if (type) {
    const Backend* named = find_backend(type);
    if (!named)
      fail(infinirtErrorInvalidDevice, "deviceType '%s' does not exist", type);
    else if (!named->extensions.Compile)
      fail(infinirtErrorNotSupported, "deviceType '%s' has no compiler", type);
    return named && named->extensions.Compile ? named : nullptr;
  }
  const Backend* current = thread_state().backend;
  if (current && current->extensions.Compile) return current;
  for (int i = 0; i < backend_count(); ++i) {
    if (backend_at(i)->extensions.Compile) return backend_at(i);
  }
  fail(infinirtErrorNotSupported, "no device type has a compiler");
  return nullptr;
}

infinirtError_t check(const infinirtXCompiled_t* compiled, const infinirtXCompileInfo* info) {
  if (!compiled || !info) return fail(infinirtErrorInvalidValue, "compiled and info must not be null");
  if (info->structSize != sizeof *info) {
    return fail(infinirtErrorInvalidValue, "info->structSize is %zu; sizeof(infinirtXCompileInfo), %zu, was expected",
                info->structSize, sizeof *info);
  }
  if (!info->source) return fail(infinirtErrorInvalidValue, "info->source is null");
  if (info->codeType != infinirtXCodeCubin && info->codeType != infinirtXCodePtx)
    return fail(infinirtErrorInvalidValue, "info->codeType is %d, no infinirtXCodeType",
                static_cast<int>(info->codeType));
  const auto check_list = [](const char* name, const char* const* list, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (!list || !list[i])
        return fail(infinirtErrorInvalidValue, "info->%s has %zu entries, of which number %zu is null", name, count, i);
    }
    return infinirtSuccess;
  };
  if (auto error = check_list("options", info->options, info->optionCount)) return error;
  if (auto error = check_list("nameExpressions", info->nameExpressions, info->nameExpressionCount)) return error;
  if (auto error = check_list("headers", info->headers, info->headerCount)) return error;
  return check_list("headerNames", info->headerNames, info->headerCount);
}

infinirtError_t compile(infinirtXCompiled_t* out, const infinirtXCompileInfo* info) {
  if (auto error = barred()) return error;
  if (out) *out = nullptr;
  if (auto error = check(out, info)) return error;
  const Backend* backend = choose(info->deviceType);
  if (!backend) return thread_extra(thread_state()).pending_code;
  Compiled* compiled = pool().acquire();
  *compiled = {};
  const infinirtError_t error = backend->extensions.Compile(*info, *compiled);
  if (error == infinirtSuccess || error == infinirtErrorInvalidSource) {
    compiled->handle = handle_create(HandleKind::Compiled, backend->index, compiled);
    if (compiled->handle) {
      *out = static_cast<infinirtXCompiled_t>(compiled->handle);
      return error;
    }
  }
  pool().release(compiled);
  return error ? error : fail(infinirtErrorMemoryAllocation, "no room for another handle");
}

Compiled* resolve(infinirtXCompiled_t handle) {
  auto* compiled = handle_resolve<Compiled>(handle, HandleKind::Compiled);
  if (!compiled) {
    char text[96];
    fail(infinirtErrorInvalidResourceHandle, "compiled %s",
         describe_handle(handle, HandleKind::Compiled, text, sizeof text));
  }
  return compiled;
}

infinirtError_t get_info(infinirtXCompiledInfo* info, infinirtXCompiled_t handle) {
  if (!info) return fail(infinirtErrorInvalidValue, "info is null");
  const Compiled* compiled = resolve(handle);
  if (!compiled) return infinirtErrorInvalidResourceHandle;
  *info = {compiled->code.empty() ? nullptr : compiled->code.data(), compiled->code.size(), compiled->log.c_str(),
           compiled->compiler.c_str(), compiled->from_cache};
  return infinirtSuccess;
}

infinirtError_t get_lowered_name(const char** name, infinirtXCompiled_t handle, const char* expression) {
  if (!name || !expression) return fail(infinirtErrorInvalidValue, "name and nameExpression must not be null");
  const Compiled* compiled = resolve(handle);
  if (!compiled) return infinirtErrorInvalidResourceHandle;
  for (const auto& [known, symbol] : compiled->lowered_names) {
    if (known != expression) continue;
    *name = symbol.c_str();
    return infinirtSuccess;
  }
  return fail(infinirtErrorSymbolNotFound, "nameExpression '%s' was not among those given to infinirtXCompile",
              expression);
}

infinirtError_t destroy(infinirtXCompiled_t handle) {
  Compiled* compiled = resolve(handle);
  if (!compiled) return infinirtErrorInvalidResourceHandle;
  handle_destroy(handle);
  *compiled = {};  // the memory goes, the object stays
  pool().release(compiled);
  return infinirtSuccess;
}

}  // namespace

std::string to_bytes(const Compiled& compiled) {
  std::string bytes;
  put(bytes, compiled.code);
  put(bytes, compiled.log);
  for (const auto& [expression, symbol] : compiled.lowered_names) {
    put(bytes, expression);
    put(bytes, symbol);
  }
  return bytes;
}

bool from_bytes(const std::string& bytes, Compiled* compiled) {
  Compiled read;
  size_t at = 0;
  if (!take(bytes, &at, &read.code) || !take(bytes, &at, &read.log)) return false;
  while (at < bytes.size()) {
    auto& [expression, symbol] = read.lowered_names.emplace_back();
    if (!take(bytes, &at, &expression) || !take(bytes, &at, &symbol)) return false;
  }
  compiled->code = std::move(read.code);
  compiled->log = std::move(read.log);
  compiled->lowered_names = std::move(read.lowered_names);
  return true;
}

}  // namespace infinirt

using infinirt::finish_error;

extern "C" {

infinirtError_t infinirtXCompile(infinirtXCompiled_t* compiled, const infinirtXCompileInfo* info) {
  return finish_error(__func__, infinirt::compile(compiled, info));
}

infinirtError_t infinirtXCompiledGetInfo(infinirtXCompiledInfo* info, infinirtXCompiled_t compiled) {
  return finish_error(__func__, infinirt::get_info(info, compiled));
}

infinirtError_t infinirtXCompiledGetLoweredName(const char** name, infinirtXCompiled_t compiled,
                                                const char* nameExpression) {
  return finish_error(__func__, infinirt::get_lowered_name(name, compiled, nameExpression));
}

infinirtError_t infinirtXCompiledDestroy(infinirtXCompiled_t compiled) {
  return finish_error(__func__, infinirt::destroy(compiled));
}

}  // extern "C"
