#include "op/nvidia/rows_source.h"

#include <algorithm>

#include "op/nvidia/source.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

constexpr const char* kSteps[] = {
#include "infiniop/generated/cuda_rows.inc"
};

constexpr int kWarp = 32, kMostThreads = 512;

std::string list(int count, const auto& item) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + std::string(item(i));
  return text + "}";
}

const char* truth(bool value) { return value ? "true" : "false"; }

// What a tensor that takes part has from element to element.
bool is_side_by_side(const Plan& plan, int tensor, int width) {
  const RowsPlan& rows = *plan.rows;
  const auto size = static_cast<int64_t>(size_of(plan.dtype[tensor]));
  if (rows.columns.levels != 1 || (rows.columns.stride[tensor][0] != size && rows.length() > 1)) return false;
  for (int level = 0; level < rows.rows.levels; ++level) {
    if (rows.rows.stride[tensor][level] % (size * width) != 0) return false;
  }
  return true;
}

// As many elements as 16 bytes hold of what rows are made of, or fewer where they do not begin and end with whole items.
int width_of(const Plan& plan) {
  const OperatorInfo& info = *plan.info;
  const int first = info.outputs;
  for (auto width = static_cast<int>(16 / size_of(plan.dtype[first])); width > 1; width /= 2) {
    bool possible = plan.rows->length() % width == 0;
    for (int t = 0; possible && t < info.tensors; ++t) {
      if (!plan.rows->is_given[t] || info.rows->place[t] == RowPlace::Row) continue;
      possible = is_side_by_side(plan, t, width);
    }
    if (possible) return width;
  }
  return 1;
}

int threads_for(int64_t items, int64_t each) {
  int threads = kWarp;
  while (threads < kMostThreads && threads * each < items) threads *= 2;
  return threads;
}

}  // namespace

RowVariant row_variant_of(const Plan& plan) {
  RowVariant variant{};
  const int64_t length = std::max<int64_t>(1, plan.rows->length());
  variant.width = width_of(plan);
  variant.element_threads = threads_for(length, 4);
  // 64 bytes in the registers of a thread, and twice as many in those of long rows: more would leave too few for others.
  const auto size = std::max<int64_t>(2, static_cast<int64_t>(size_of(plan.dtype[plan.info->outputs])));
  const int64_t items = length / variant.width, usual = std::max<int64_t>(1, 64 / size / variant.width);
  variant.threads = threads_for(items, usual);
  variant.items = 1;
  while (int64_t{variant.threads} * variant.items < items) variant.items *= 2;
  if (variant.items > 2 * usual) variant.items = 0;
  return variant;
}

RowArguments row_arguments_of(const Plan& plan) {
  static_assert(RowArguments::kTensors == kMaxRowTensors && RowArguments::kLevels == kMaxLevels);
  RowArguments arguments{};
  const RowsPlan& rows = *plan.rows;
  arguments.rows = rows.rows.total;
  arguments.length = rows.length();
  arguments.matrix_rows = rows.matrix_rows;
  for (int level = 0; level < kMaxLevels; ++level) {
    arguments.row_size[level] = level < rows.rows.levels ? rows.rows.size[level] : 1;
    arguments.column_size[level] = level < rows.columns.levels ? rows.columns.size[level] : 1;
    for (int t = 0; t < plan.info->tensors; ++t) {
      arguments.row_stride[t][level] = level < rows.rows.levels ? rows.rows.stride[t][level] : 0;
      arguments.column_stride[t][level] = level < rows.columns.levels ? rows.columns.stride[t][level] : 0;
    }
  }
  return arguments;
}

std::string row_elements_kernel(const Plan& plan) { return std::string(plan.info->name) + "_elements"; }
std::string row_vectors_kernel(const Plan& plan) { return plan.info->name; }

std::string row_variant_text(const Plan& plan, const RowVariant& variant) {
  const OperatorInfo& info = *plan.info;
  const RowsInfo& rows = *info.rows;
  const auto input = [&](int i) { return info.outputs + i; };
  const auto number = [](const char* name, int value) {
    return "constexpr int " + std::string(name) + " = " + std::to_string(value) + ";\n";
  };
  std::string text = "#pragma once\n";
  text += "#define INFINIOP_ELEMENTS_KERNEL " + row_elements_kernel(plan) + "\n";
  text += "#define INFINIOP_VECTORS_KERNEL " + row_vectors_kernel(plan) + "\n";
  text += "#define INFINIOP_WIDTH " + std::to_string(variant.width) + "\n";
  text += "namespace infiniop {\n";
  text += "using In = " + std::string(element_type(plan.dtype[input(0)])) + ";\n";
  text += "using Out = " + std::string(element_type(plan.dtype[0])) + ";\n";
  text += "using Computed = " + computed_type(row_type(info, plan.dtype[input(0)])) + ";\n";
  text += number("kInputs", rows.inputs) + number("kOutputs", info.outputs);
  text += number("kRowLevels", plan.rows->rows.levels) + number("kColumnLevels", plan.rows->columns.levels);
  text += number("kRowThreads", variant.threads) + number("kRowItems", variant.items);
  text += number("kElementThreads", variant.element_threads);
  text += "constexpr bool kCuts = " + std::string(truth(rows.reach != nullptr)) + ";\n";
  text += "constexpr bool kIsColumn[] = " +
          list(rows.inputs, [&](int i) { return truth(rows.place[input(i)] == RowPlace::Column); }) + ";\n";
  text +=
      "constexpr bool kIsGiven[] = " + list(rows.inputs, [&](int i) { return truth(plan.rows->is_given[input(i)]); }) +
      ";\n";
  text += "constexpr double kMissing[] = " +
          list(rows.inputs, [&](int i) { return std::to_string(rows.missing[input(i)]); }) + ";\n";
  text += "constexpr Writes kWrites[] = " +
          list(info.outputs,
               [&](int t) {
                 if (!plan.rows->is_given[t]) return "Writes::Nothing";
                 return rows.place[t] == RowPlace::Row ? "Writes::Rows" : "Writes::Elements";
               }) +
          ";\n";
  text += "template <int Input>\nstruct ColumnTypeOf;\n";
  for (int i = 0; i < rows.inputs; ++i) {
    text += "template <>\nstruct ColumnTypeOf<" + std::to_string(i) +
            "> {\n  using Type = " + element_type(plan.dtype[input(i)]) + ";\n};\n";
  }
  text += "template <int Input>\nusing ColumnType = typename ColumnTypeOf<Input>::Type;\n";
  return text + kSteps[rows.number] + "using RowSteps = Steps<Computed>;\n}  // namespace infiniop\n";
}

}  // namespace infiniop::nvidia
