#include "op/nvidia/chain_source.h"

#include <cstring>

#include "op/nvidia/source.h"

namespace infiniop::nvidia {

namespace {

std::string number(int value) { return std::to_string(value); }

// "in.v2[i]" for an operand, "r5" for a step's result.
std::string value_text(const ChainPlan& plan, int value) {
  const int operands = plan.nest.operands;
  return value < operands ? "in.v" + number(value) + "[i]" : "r" + number(value - operands);
}

std::string operands_text(const ChainPlan& plan, const ChainVariant& variant) {
  std::string types, lies, sizes;
  for (int t = 0; t < plan.nest.operands; ++t) {
    types += "using T" + number(t) + " = " + element_type(plan.dtype[t]) + ";\n";
    lies += (t ? ", " : "") + std::string(name_of(variant.lie[t]));
    sizes += (t ? ", " : "") + std::string(variant.lie[t] == Lie::Scalar ? "0" : "sizeof(T" + number(t) + ")");
  }
  return types + "constexpr Lie kLie[] = {" + lies + "};\n" +
         "template <int Width>\nconstexpr Lie lie_of(int operand) {\n"
         "  return Width == 1 && kLie[operand] == Lie::Repeated ? Lie::SideBySide : kLie[operand];\n}\n" +
         "__device__ __forceinline__ Offsets place_of(Offset element) {\n  Offsets offsets{};\n"
         "  constexpr Offset kSize[] = {" +
         sizes + "};\n" +
         "  for (int t = 0; t < Offsets::kOperands; ++t) offsets.at[t] = element * kSize[t];\n  return offsets;\n}\n";
}

std::string memory_text(const ChainPlan& plan, const ChainVariant& variant) {
  std::string loaded, load, stored, store;
  for (int t = 0; t < plan.nest.operands; ++t) {
    const std::string n = number(t);
    if (variant.is_read[t]) {
      loaded += "  Input<T" + n + ", Width, lie_of<Width>(" + n + ")> v" + n + ";\n";
      load += "    v" + n + ".load(memory[" + n + "] + at.at[" + n + "]);\n";
    }
    if (plan.is_written[t]) {
      stored += "  Pack<T" + n + ", Width> v" + n + ";\n";
      store += "    *reinterpret_cast<Pack<T" + n + ", Width>*>(memory[" + n + "] + at.at[" + n + "]) = v" + n + ";\n";
    }
  }
  return "template <int Width>\nstruct Loaded {\n" + loaded +
         "  __device__ __forceinline__ void load(char* const* memory, const Offsets& at) {\n" + load + "  }\n};\n" +
         "template <int Width>\nstruct Stored {\n" + stored +
         "  __device__ __forceinline__ void store(char* const* memory, const Offsets& at) const {\n" + store +
         "  }\n};\n";
}

std::string steps_text(const ChainPlan& plan) {
  std::string parts, members, made, body;
  for (int s = 0; s < plan.steps; ++s) {
    const ChainStep& step = plan.step[s];
    const std::string n = number(s), type = element_type(step.out);
    if (is_constant(step.info->kind)) {
      body += "    const auto r" + n + " = widen(*reinterpret_cast<const " + type + "*>(args.element[" + n + "]));\n";
    } else {
      parts +=
          "namespace step" + n + " {\n" + expression_text(step.info->kind, step.info->map, step.out, step.in) + "}\n";
      members += "  step" + n + "::Expression s" + n + ";\n";
      made += (made.empty() ? " : s" : ", s") + n + "(args.attributes[" + n + "])";
      std::string inputs;
      for (int i = 0; i < step.info->inputs; ++i) inputs += (i ? ", " : "") + value_text(plan, step.inputs[i]);
      // As if it had been written to memory and read again.
      body += "    const auto r" + n + " = widen(Narrow<" + type + ">::of(s" + n + "(" + inputs + ")));\n";
    }
    if (step.output >= 0) {
      const std::string t = number(step.output);
      body += "    out.v" + t + ".at[i] = Narrow<T" + t + ">::of(r" + n + ");\n";
    }
  }
  return parts + "struct Steps {\n" + members +
         "  __device__ __forceinline__ explicit Steps(const ChainArguments& args)" + made + " {}\n" +
         "  template <class In, class Out>\n  __device__ __forceinline__ void operator()(const In& in, Out& out, const "
         "ChainArguments& args, int i) const {\n" +
         body + "  }\n};\n";
}

}  // namespace

ChainVariant variant_of(const ChainPlan& plan) {
  ChainVariant variant{};
  for (int s = 0; s < plan.steps; ++s) {
    for (int i = 0; i < plan.step[s].info->inputs; ++i) {
      if (plan.step[s].inputs[i] < plan.nest.operands) variant.is_read[plan.step[s].inputs[i]] = true;
    }
  }
  for (int t = 0; t < plan.nest.operands; ++t) {
    variant.lie[t] = plan.is_written[t] ? Lie::SideBySide : lie_of(plan.nest, t);
  }
  variant.width = width_of(plan.nest, plan.dtype, variant.lie);
  variant.wide_index = needs_wide_index(plan.nest, plan.dtype);
  return variant;
}

ChainArguments arguments_of(const ChainPlan& plan, const ChainVariant& variant, int width) {
  ChainArguments arguments{};
  lay_out(plan.nest, width, variant.wide_index, &arguments);
  for (int s = 0; s < plan.steps; ++s) {
    std::memcpy(arguments.attributes[s], plan.step[s].attributes, sizeof arguments.attributes[s]);
    std::memcpy(arguments.element[s], plan.step[s].element, sizeof arguments.element[s]);
  }
  return arguments;
}

std::string variant_text(const ChainPlan& plan, const ChainVariant& variant) {
  std::string text = "#pragma once\n";
  text += "#define INFINIOP_ELEMENTS_KERNEL " + std::string(kChainElementsKernel) + "\n";
  text += "#define INFINIOP_VECTORS_KERNEL " + std::string(kChainVectorsKernel) + "\n";
  text += "#define INFINIOP_WIDTH " + number(variant.width) + "\n";
  text += "namespace infiniop {\n";
  text += variant.wide_index ? "using Index = uint64_t;\nusing Offset = int64_t;\n"
                             : "using Index = uint32_t;\nusing Offset = int32_t;\n";
  text += "constexpr int kLevels = " + number(plan.nest.levels) + ";\n";
  text += "using Offsets = OffsetsOf<Offset, " + number(plan.nest.operands) + ">;\n";
  return text + operands_text(plan, variant) + memory_text(plan, variant) + steps_text(plan) +
         "}  // namespace infiniop\n";
}

}  // namespace infiniop::nvidia
