// The CPU device's own copies and fills, against plain loops.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "backends/cpu/copy.h"
#include "check.h"
#include "cpu_support.h"

using namespace infinirt;
using namespace infinirt::cpu;

TEST(fills_write_every_element_and_nothing_else) {
  for (size_t bytes : {size_t{4}, size_t{12}, size_t{100}, 5000 * size_t{1}, 9 * MiB + 4}) {
    for (size_t shift : {0u, 4u, 60u, 64u}) {
      for (uint8_t element : {1, 2, 4}) {
        std::vector<unsigned char> memory(bytes + 256, 0xEE);
        FillWork work{};
        work.dst = memory.data() + shift;
        work.pitch = work.slice = work.width = bytes;
        work.height = work.depth = 1;
        work.value = 0x01020304;
        work.element_size = element;
        fill_memory(work, work.dst);
        bool good = true;
        for (size_t i = 0; i < memory.size(); ++i) {
          const bool inside = i >= shift && i < shift + bytes;
          const auto expected = static_cast<unsigned char>(inside ? 0x01020304u >> 8 * ((i - shift) % element) : 0xEEu);
          good &= memory[i] == expected;
        }
        CHECK(good);
      }
    }
  }
}

TEST(copies_of_three_dimensions_match_a_plain_loop) {
  struct Shape {
    size_t width, height, depth, dst_pitch, dst_rows, src_pitch, src_rows;
  };
  for (const Shape& s : {Shape{7, 5, 3, 11, 6, 9, 5}, Shape{8, 4, 2, 8, 4, 8, 4}, Shape{8, 4, 2, 8, 4, 16, 4},
                         Shape{MiB, 6, 2, MiB, 6, MiB + 64, 7}, Shape{64, 1, 9, 64, 1, 64, 1}}) {
    std::vector<unsigned char> src(s.src_pitch * s.src_rows * s.depth), dst(s.dst_pitch * s.dst_rows * s.depth, 9);
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<unsigned char>(i * 31 + i / 251);
    std::vector<unsigned char> expected = dst;
    for (size_t z = 0; z < s.depth; ++z) {
      for (size_t y = 0; y < s.height; ++y) {
        std::copy_n(&src[(z * s.src_rows + y) * s.src_pitch], s.width, &expected[(z * s.dst_rows + y) * s.dst_pitch]);
      }
    }
    CopyWork work{};
    work.dst_pitch = s.dst_pitch;
    work.src_pitch = s.src_pitch;
    work.dst_slice = s.dst_pitch * s.dst_rows;
    work.src_slice = s.src_pitch * s.src_rows;
    work.width = s.width;
    work.height = s.height;
    work.depth = s.depth;
    copy_memory(work, dst.data(), src.data());
    CHECK(dst == expected);
  }
}

TEST(overlapping_copies_behave_as_memmove) {
  for (size_t bytes : {size_t{1000}, 9 * MiB}) {
    std::vector<unsigned char> memory(bytes + 100), expected;
    std::iota(memory.begin(), memory.end(), 0);
    CopyWork work{};
    work.width = bytes;
    work.height = work.depth = 1;
    for (int direction : {0, 1}) {
      expected = memory;
      unsigned char* base = memory.data();
      std::memmove(expected.data() + (direction ? 33 : 0), expected.data() + (direction ? 0 : 33), bytes);
      copy_memory(work, base + (direction ? 33 : 0), base + (direction ? 0 : 33));
      CHECK(memory == expected);
    }
  }
}

TEST_MAIN()
