#include <algorithm>
#include <cstdint>
#include <cstring>

#include "op/nvidia/written/attention.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

// In the order in which they use each other.
// clang-format off
extern const char kAttentionText[] =
#include "infiniop/generated/attention.cuh.inc"
#include "infiniop/generated/attention_split.cuh.inc"
#include "infiniop/generated/attention_tiles.cuh.inc"
#include "infiniop/generated/attention_stream.cuh.inc"
#include "infiniop/generated/attention.cu.inc"
    ;
// clang-format on

namespace {

constexpr int kWarps = 4;
constexpr int64_t kMostGroup = 16;  // queries that share a head of keys, in registers of one thread

int64_t group_of(const AttentionCall& call, const WrittenPlan& plan) {
  return plan.size[call.heads] / std::max<int64_t>(1, plan.size[call.groups]);
}

int64_t element_size(const AttentionCall& call, const WrittenPlan& plan) {
  return static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(plan.tensor[call.q].dtype)));
}

// How many threads read a row of keys, 16 bytes each; 0: rows do not lie so.
int64_t threads_per_row(const AttentionCall& call, const WrittenPlan& plan) {
  const int64_t size = element_size(call, plan), d = plan.size[call.d];
  if (size > 4 || d != plan.size[call.e]) return 0;
  for (const int t : {call.q, call.k, call.v, call.out}) {
    const TensorView& view = plan.tensor[t];
    if (view.stride[view.ndim - 1] != 1) return 0;
    for (int i = 0; i + 1 < view.ndim; ++i) {
      if (view.stride[i] * size % 16 != 0) return 0;
    }
  }
  const int64_t threads = d * size / 16;
  const bool fits = d * size % 16 == 0 && threads >= 4 && threads <= 32 && (threads & (threads - 1)) == 0;
  return fits ? threads : 0;
}

bool can_split(const AttentionCall& call, const WrittenPlan& plan) {
  return call.queries == 1 && std::strcmp(call.kind, "PREFILL") != 0 && threads_per_row(call, plan) != 0 &&
         group_of(call, plan) <= kMostGroup;
}

// How large heads are that tensor cores multiply; 0: they cannot.
int64_t matrix_size(const AttentionCall& call, const WrittenPlan& plan) {
  const int dtype = plan.tensor[call.q].dtype;
  const int64_t d = plan.size[call.d];
  const bool is_narrow = dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16;
  const bool fits = is_narrow && (d == 64 || d == 128) && call.scale > 0 && call.most_keys < INT32_MAX / 2;
  return fits && threads_per_row(call, plan) != 0 ? d : 0;
}
// Of many queries, and of one for each sequence.
int64_t tile_size(const AttentionCall& call, const WrittenPlan& plan) {
  return call.queries >= 16 ? matrix_size(call, plan) : 0;
}
int64_t stream_size(const AttentionCall& call, const WrittenPlan& plan) {
  return can_split(call, plan) ? matrix_size(call, plan) : 0;
}

// 128 queries, and twice 64 keys and values.
size_t tile_memory(int64_t d) { return static_cast<size_t>((128 + 4 * 64) * d * 2); }
// 16 queries, and three times 64 keys and values.
size_t stream_memory(int64_t d) { return static_cast<size_t>((16 + 6 * 64) * d * 2); }

// Into how many parts the keys go: as many as fill a large GPU twice, of not less than 256 keys.
int64_t chunks_of(const AttentionCall& call, const WrittenPlan& plan) {
  const int64_t wanted = 1056 / std::max<int64_t>(1, call.sequences * plan.size[call.groups]) + 1;
  return std::clamp<int64_t>(std::min(wanted, (call.most_keys + 255) / 256), 1, 256);
}

}  // namespace

WrittenProgram attention_program(const AttentionCall& call, const WrittenPlan& plan) {
  const bool splits = can_split(call, plan);
  std::string text = alias("X", plan.tensor[call.q].dtype);
  text += std::string("#define INFINIOP_ATTENTION_") + call.kind + "\n";
  text += "#define INFINIOP_ROW_THREADS " + std::to_string(splits ? threads_per_row(call, plan) : 0) + "\n";
  text += "constexpr int kGroup = " + std::to_string(splits ? group_of(call, plan) : 1) + ";\n";
  const int64_t tile = tile_size(call, plan);
  text += "#define INFINIOP_TILE_SIZE " + std::to_string(tile) + "\n";
  const int64_t stream = stream_size(call, plan);
  text += "#define INFINIOP_STREAM_SIZE " + std::to_string(stream) + "\n";
  if (plan.tensor[call.q].dtype == INFINI_DTYPE_BF16) text += "#define INFINIOP_TILE_BF16\n";
  WrittenProgram program{text, {"attend_rows"}, 0};
  if (tile) program.kernels.push_back("attend_tiles");
  if (stream) program.kernels.push_back("attend_stream");
  program.shared = tile ? tile_memory(tile) : stream ? stream_memory(stream) : 0;
  if (splits) program.kernels.insert(program.kernels.end(), {"attend_split", "combine_split"});
  if (std::strcmp(call.kind, "CACHED") == 0) program.kernels.push_back("store_new");
  const int64_t chunks = splits ? chunks_of(call, plan) : 1;
  // Of each part the sums, the largest score and the total.
  if (chunks > 1) {
    program.workspace =
        static_cast<size_t>(call.sequences * plan.size[call.heads] * chunks * (plan.size[call.e] + 2)) * sizeof(float);
  }
  return program;
}

std::vector<WrittenLaunch> attention_launches(const AttentionCall& call, const WrittenPlan& plan,
                                              void* const* addresses) {
  std::vector<WrittenLaunch> launches;
  if (std::strcmp(call.kind, "CACHED") == 0) {
    const int64_t items = plan.size[call.groups] * call.queries * plan.size[call.d];
    launches.push_back({"store_new", {std::min(blocks_for(items, 256), 65536u), 1, 1}, {256, 1, 1}});
  }
  uintptr_t bits = 0;
  for (const int t : {call.q, call.k, call.v, call.out}) bits |= reinterpret_cast<uintptr_t>(addresses[t]);
  const auto heads = static_cast<unsigned>(plan.size[call.heads]),
             groups = static_cast<unsigned>(plan.size[call.groups]);
  const auto sequences = static_cast<unsigned>(call.sequences);
  if (can_split(call, plan) && bits % 16 == 0 && sequences < 65536 && groups < 65536) {
    const auto chunks = static_cast<unsigned>(chunks_of(call, plan));
    const int64_t stream = stream_size(call, plan);
    launches.push_back({stream ? "attend_stream" : "attend_split",
                        {chunks, groups, sequences},
                        {32 * kWarps, 1, 1},
                        stream ? stream_memory(stream) : 0});
    if (chunks > 1) launches.push_back({"combine_split", {heads, sequences, chunks}, {128, 1, 1}});
    return launches;
  }
  const int64_t tile = tile_size(call, plan);
  if (tile && bits % 16 == 0 && heads < 65536 && sequences < 65536) {
    launches.push_back(
        {"attend_tiles", {blocks_for(call.queries, 128), heads, sequences}, {128, 1, 1}, tile_memory(tile)});
    return launches;
  }
  const int64_t rows = call.queries * heads * (std::strcmp(call.kind, "PREFILL") == 0 ? 1 : call.sequences);
  const auto blocks = static_cast<unsigned>(std::clamp<int64_t>((rows + kWarps - 1) / kWarps, 1, 1 << 20));
  const size_t sums = static_cast<size_t>(plan.size[call.e]) * kWarps * (element_size(call, plan) == 8 ? 8 : 4);
  launches.push_back({"attend_rows", {blocks, 1, 1}, {32 * kWarps, 1, 1}, sums});
  return launches;
}

}  // namespace infiniop::nvidia
