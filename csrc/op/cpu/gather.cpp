#include "op/cpu/gather.h"

#include <algorithm>
#include <cstring>

namespace infiniop::cpu {

Position::Position(const Loops& loops, int64_t index) {
  for (int level = 0; level < loops.levels; ++level) {
    at[level] = index % loops.size[level];
    index /= loops.size[level];
  }
}

int64_t Position::offset(const Loops& loops, const int64_t* strides) const {
  int64_t bytes = 0;
  for (int level = 0; level < loops.levels; ++level) bytes += at[level] * strides[level];
  return bytes;
}

void Position::forward(const Loops& loops, int64_t count) {
  at[0] += count;
  for (int level = 0; level + 1 < loops.levels && at[level] >= loops.size[level]; ++level) {
    at[level + 1] += at[level] / loops.size[level];
    at[level] %= loops.size[level];
  }
}

namespace {

template <int Size>
void copy_strided(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count) {
  if (to_stride == Size && from_stride == Size) {
    std::memcpy(to, from, static_cast<size_t>(count) * Size);
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, Size);
}

// Calls run(offset, count) for each row of the innermost loop, or what of it is asked for.
template <class Run>
void for_each_run(const Loops& loops, const int64_t* strides, Position position, int64_t count, Run run) {
  int64_t offset = position.offset(loops, strides);
  while (true) {
    const int64_t now = std::min(count, loops.size[0] - position.at[0]);
    run(offset, now);
    count -= now;
    if (count == 0) return;
    offset -= position.at[0] * strides[0];
    position.at[0] = 0;
    for (int level = 1; level < loops.levels; ++level) {
      offset += strides[level];
      if (++position.at[level] < loops.size[level]) break;
      offset -= loops.size[level] * strides[level];
      position.at[level] = 0;
    }
  }
}

template <int Size>
void gather_sized(const Loops& loops, const int64_t* strides, const Position& position, int64_t count,
                  const char* memory, char* packed) {
  const int64_t stride = strides[0];
  for_each_run(loops, strides, position, count, [&](int64_t offset, int64_t run) {
    copy_strided<Size>(packed, Size, memory + offset, stride, run);
    packed += run * Size;
  });
}

template <int Size>
void scatter_sized(const Loops& loops, const int64_t* strides, const Position& position, int64_t count,
                   const char* packed, char* memory) {
  const int64_t stride = strides[0];
  for_each_run(loops, strides, position, count, [&](int64_t offset, int64_t run) {
    copy_strided<Size>(memory + offset, stride, packed, Size, run);
    packed += run * Size;
  });
}

}  // namespace

void gather(const Loops& loops, const int64_t* strides, int element_size, Position position, int64_t count,
            const char* memory, char* packed) {
  switch (element_size) {
    case 1:
      return gather_sized<1>(loops, strides, position, count, memory, packed);
    case 2:
      return gather_sized<2>(loops, strides, position, count, memory, packed);
    case 4:
      return gather_sized<4>(loops, strides, position, count, memory, packed);
    case 8:
      return gather_sized<8>(loops, strides, position, count, memory, packed);
    default:
      return gather_sized<16>(loops, strides, position, count, memory, packed);
  }
}

void scatter(const Loops& loops, const int64_t* strides, int element_size, Position position, int64_t count,
             const char* packed, char* memory) {
  switch (element_size) {
    case 1:
      return scatter_sized<1>(loops, strides, position, count, packed, memory);
    case 2:
      return scatter_sized<2>(loops, strides, position, count, packed, memory);
    case 4:
      return scatter_sized<4>(loops, strides, position, count, packed, memory);
    case 8:
      return scatter_sized<8>(loops, strides, position, count, packed, memory);
    default:
      return scatter_sized<16>(loops, strides, position, count, packed, memory);
  }
}

}  // namespace infiniop::cpu
