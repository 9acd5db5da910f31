#include "op/nvidia/source.h"

#include <algorithm>

#include "op/nvidia/layout.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

constexpr char kProgram[] =
#include "infiniop/generated/kernel.cu.inc"
    ;
constexpr char kChainProgram[] =
#include "infiniop/generated/chain.cu.inc"
    ;
constexpr char kRowsProgram[] =
#include "infiniop/generated/rows.cu.inc"
    ;
constexpr char kElements[] =
#include "infiniop/generated/elements.h.inc"
    ;
constexpr char kArguments[] =
#include "infiniop/generated/arguments.h.inc"
    ;
constexpr char kWrittenArguments[] =
#include "infiniop/generated/written_arguments.h.inc"
    ;
constexpr char kWrittenNames[] =
#include "infiniop/generated/written_names.inc"
    ;
constexpr char kExpression[] =
#include "infiniop/generated/expression.h.inc"
    ;
constexpr char kElementary[] =
#include "infiniop/generated/elementary.h.inc"
    ;
constexpr char kNarrow[] =
#include "infiniop/generated/narrow.h.inc"
    ;
// NVIDIA's compiler brings no headers of its own.
constexpr char kIntegers[] = R"(#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned uint32_t;
typedef unsigned long long uint64_t;
)";

struct MapText {
  const char* any;
  const char *integer, *float16, *bfloat16;  // null: as any
};
constexpr MapText kMapTexts[] = {
#include "infiniop/generated/cuda_maps.inc"
};

const char* bytes_type(size_t size) {
  switch (size) {
    case 1:
      return "uint8_t";
    case 2:
      return "uint16_t";
    case 4:
      return "uint32_t";
    case 8:
      return "uint64_t";
    default:
      return "Bytes16";
  }
}

}  // namespace

const char* element_type(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F8:
      return "Float8";
    case INFINI_DTYPE_F16:
      return "Float16";
    case INFINI_DTYPE_BF16:
      return "BFloat16";
    case INFINI_DTYPE_F32:
      return "float";
    case INFINI_DTYPE_F64:
      return "double";
    case INFINI_DTYPE_I8:
      return "int8_t";
    case INFINI_DTYPE_I16:
      return "int16_t";
    case INFINI_DTYPE_I32:
      return "int32_t";
    case INFINI_DTYPE_I64:
      return "int64_t";
    default:
      return bytes_type(size_of(dtype));
  }
}

namespace {

bool is_float(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F8 || dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 ||
         dtype == INFINI_DTYPE_F32 || dtype == INFINI_DTYPE_F64;
}

}  // namespace

std::string computed_type(infiniDtype_t dtype) {
  if (dtype == INFINI_DTYPE_F64) return "double";
  return is_float(dtype) ? "float" : element_type(dtype);
}

namespace {

bool computes(OperatorKind kind) {
  return kind == OperatorKind::Map || kind == OperatorKind::Cast || kind == OperatorKind::Scale;
}

std::string scale_text(infiniDtype_t dtype) {
  const std::string type = computed_type(dtype);
  return "struct Expression {\n  " + type + " factor;\n  explicit Expression(const double* attributes) : factor(" +
         type + "(attributes[0])) {}\n  " + type + " operator()(" + type + " x) const { return factor == " + type +
         "(0) ? " + type + "(0) : factor * x; }\n};\n";
}

std::string cast_text(infiniDtype_t to, infiniDtype_t from) {
  std::string value = "static_cast<" + computed_type(to) + ">(x)";
  if (to == INFINI_DTYPE_BOOL) {
    value = "static_cast<uint8_t>(x != " + computed_type(from) + "(0))";
  } else if (is_float(from) && !is_float(to)) {
    value = "number_as<" + computed_type(to) + ">(x)";
  }
  return "struct Expression {\n  explicit Expression(const double*) {}\n  " + computed_type(to) + " operator()(" +
         computed_type(from) + " x) const { return " + value + "; }\n};\n";
}

constexpr char kCopyText[] =
    "struct Expression {\n  explicit Expression(const double*) {}\n  template <class T> T operator()(T x) const { "
    "return x; }\n};\n";

}  // namespace

std::string expression_text(OperatorKind kind, int map, infiniDtype_t out, infiniDtype_t in) {
  if (kind == OperatorKind::Map) {
    const MapText& text = kMapTexts[map];
    const char* own = in == INFINI_DTYPE_F16    ? text.float16
                      : in == INFINI_DTYPE_BF16 ? text.bfloat16
                      : is_float(in)            ? nullptr
                                                : text.integer;
    return (own ? own : text.any) + std::string("using Expression = Map<") + computed_type(in) + ">;\n";
  }
  if (kind == OperatorKind::Scale) return scale_text(out);
  return kind == OperatorKind::Cast ? cast_text(out, in) : kCopyText;
}

Variant variant_of(const Plan& plan) {
  Variant variant{};
  const Nest& nest = plan.nest;
  variant.name = plan.info->name;
  variant.kind = plan.info->kind;
  variant.map = plan.info->map;
  variant.inputs = nest.operands - 1;
  variant.levels = nest.levels;
  std::copy_n(plan.dtype, kMaxOperands, variant.dtype);
  variant.model = plan.info->model();
  Lie lies[kMaxOperands] = {};
  for (int t = 1; t < nest.operands; ++t) variant.lie[t - 1] = lies[t] = lie_of(nest, t);
  variant.width = width_of(nest, plan.dtype, lies);
  variant.wide_index = needs_wide_index(nest, plan.dtype);
  variant.tiling = tiling_of(nest, plan.dtype);
  return variant;
}

Arguments arguments_of(const Plan& plan, const Variant& variant, int width) {
  Arguments arguments{};
  lay_out(plan.nest, width, variant.wide_index, &arguments);
  return arguments;
}

std::string elements_kernel_name(const Variant& variant) { return std::string(variant.name) + "_elements"; }
std::string vectors_kernel_name(const Variant& variant) { return variant.name; }
std::string tiles_kernel_name(const Variant& variant) { return std::string(variant.name) + "_tiles"; }

std::string variant_text(const Variant& variant) {
  const auto type = [&](int operand) -> std::string {
    if (operand > variant.inputs) return "uint8_t";
    const infiniDtype_t dtype = variant.dtype[operand];
    return computes(variant.kind) ? element_type(dtype) : bytes_type(size_of(dtype));
  };
  std::string text = "#pragma once\n";
  text += "#define INFINIOP_ELEMENTS_KERNEL " + elements_kernel_name(variant) + "\n";
  text += "#define INFINIOP_VECTORS_KERNEL " + vectors_kernel_name(variant) + "\n";
  text += "#define INFINIOP_WIDTH " + std::to_string(variant.width) + "\n";
  if (variant.tiling.edge > 0) text += "#define INFINIOP_TILES_KERNEL " + tiles_kernel_name(variant) + "\n";
  text += "namespace infiniop {\n";
  text += "using Out = " + type(0) + ";\n";
  text += "using In0 = " + type(1) + ";\nusing In1 = " + type(2) + ";\nusing In2 = " + type(3) + ";\n";
  text += variant.wide_index ? "using Index = uint64_t;\nusing Offset = int64_t;\n"
                             : "using Index = uint32_t;\nusing Offset = int32_t;\n";
  text += "constexpr int kInputs = " + std::to_string(variant.inputs) + ";\n";
  text += "constexpr int kLevels = " + std::to_string(variant.levels) + ";\n";
  text += "constexpr Lie kLie[3] = {";
  for (int t = 0; t < 3; ++t) text += (t ? ", " : "") + std::string(name_of(variant.lie[t]));
  text += "};\n";
  if (const Tiling& tiling = variant.tiling; tiling.edge > 0) {
    text += "constexpr int kTile = " + std::to_string(tiling.edge) + ", kAlong = " + std::to_string(tiling.along) +
            ", kAcross = " + std::to_string(tiling.across) + ";\nconstexpr bool kTurned[3] = {";
    for (int t = 0; t < 3; ++t) text += std::string(t ? ", " : "") + (tiling.is_turned[t] ? "true" : "false");
    text += "};\n";
  }
  return text + expression_text(variant.kind, variant.map, variant.dtype[0], variant.dtype[variant.model]) +
         "}  // namespace infiniop\n";
}

const char* program_text() { return kProgram; }
const char* chain_program_text() { return kChainProgram; }
const char* rows_program_text() { return kRowsProgram; }

std::array<std::pair<const char*, const char*>, 8> program_files() {
  return {{{"cstdint", kIntegers},
           {"op/expression.h", kExpression},
           {"op/elementary.h", kElementary},
           {"op/narrow.h", kNarrow},
           {"op/nvidia/arguments.h", kArguments},
           {"op/nvidia/elements.h", kElements},
           {"op/nvidia/written_arguments.h", kWrittenArguments},
           {"infiniop/generated/written.h", kWrittenNames}}};
}

}  // namespace infiniop::nvidia
