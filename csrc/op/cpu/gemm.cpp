#include "op/cpu/gemm.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "op/cpu/blas.h"
#include "op/cpu/buffer.h"
#include "op/cpu/few_rows.h"
#include "op/cpu/kernel.h"
#include "op/cpu/machine.h"
#include "op/cpu/packed_product.h"
#include "op/cpu/tiles.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop::cpu {

namespace {

// Tiles that go through buffers: their parts fit the second-level cache.
constexpr int64_t kPackedTile = 256, kDepth = 256;
constexpr int64_t kLargestTile = 1024, kSmallestTile = 128;
// Of products with few rows: how much of the large matrix is worth a block, about 10 microseconds.
constexpr int64_t kFewRowsBytes = 1 << 17;
// Columns of a product with few rows whose large matrix lies in lines.
constexpr int64_t kFewestAcross = 128;
// Of tiles of floats, and of narrow types, whose sums are kept beside: multiples of what is computed together in each instruction set.
constexpr int64_t kPackedRows = 3072, kPackedRowsNarrow = 576;
// Columns of a product by registers of whole tiles, which brings one of the matrices once for all of the other.
constexpr int64_t kTiledColumns = 4096;

// The first argument, by value; then the addresses of c, a and b.
struct GemmWork {
  Product product;  // c is in rows, where it can be
  infiniDtype_t dtype;
  bool direct;  // the library works on the tensors themselves
  bool few;     // rows, at most kMostFewRows, which lie along memory, as the columns of b do
  bool across;  // or, of these, the rows of b
  bool packed;  // floats that are brought side by side
  const Blas* blas;
  int64_t tile_m, tile_n;
  int64_t columns, down;  // tiles of one matrix
  double alpha, beta;
};

template <class Element>
void copy_elements(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step * static_cast<int64_t>(sizeof(Element)),
                from + i * from_step * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
  }
}

// Steps count elements of `size` bytes.
void copy_strided(size_t size, char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  if (size == 2) return copy_elements<uint16_t>(to, to_step, from, from_step, count);
  if (size == 4) return copy_elements<uint32_t>(to, to_step, from, from_step, count);
  copy_elements<uint64_t>(to, to_step, from, from_step, count);
}

// One tile of c, computed as T.
template <class T>
class Tile {
 public:
  Tile(const GemmWork& work, char* c, const char* a, const char* b, int64_t block)
      : work_(work), p_(work.product), size_(static_cast<int64_t>(size_of(work.dtype))) {
    const int64_t per_matrix = work.columns * work.down;
    const int64_t matrix = block / per_matrix, tile = block % per_matrix;
    row_ = tile / work.columns * work.tile_m;
    column_ = tile % work.columns * work.tile_n;
    rows_ = std::min(work.tile_m, p_.m - row_);
    columns_ = std::min(work.tile_n, p_.n - column_);
    c_ = c + (matrix * p_.c.batch_stride + row_ * p_.c.row_stride + column_ * p_.c.column_stride) * size_;
    a_ = a + (matrix * p_.a.batch_stride + row_ * p_.a.row_stride) * size_;
    b_ = b + (matrix * p_.b.batch_stride + column_ * p_.b.column_stride) * size_;
  }

  infinirtError_t run() {
    const bool product = work_.alpha != 0 && p_.k > 0;  // otherwise a and b are not read
    if (product && work_.few) {
      const FewRows few{work_.dtype,
                        rows_,
                        columns_,
                        p_.k,
                        a_,
                        b_,
                        c_,
                        p_.a.row_stride,
                        work_.across ? p_.b.row_stride : p_.b.column_stride,
                        p_.c.row_stride,
                        p_.c.column_stride,
                        static_cast<float>(work_.alpha),
                        static_cast<float>(work_.beta),
                        work_.across};
      return few_rows()(few) ? infinirtSuccess : no_memory();
    }
    if (product && work_.packed) {
      const PackedProduct packed{work_.dtype,
                                 false,
                                 rows_,
                                 columns_,
                                 p_.k,
                                 a_,
                                 b_,
                                 c_,
                                 p_.a.row_stride,
                                 p_.a.column_stride,
                                 p_.b.row_stride,
                                 p_.b.column_stride,
                                 p_.c.row_stride,
                                 p_.c.column_stride,
                                 static_cast<float>(work_.alpha),
                                 static_cast<float>(work_.beta)};
      return packed_product()(packed) ? infinirtSuccess : no_memory();
    }
    if (product && work_.direct && run_direct()) return infinirtSuccess;
    char* memory = worker_buffer(sizeof(T) * (kPackedTile * kPackedTile + 2 * kPackedTile * kDepth + 2 * kLargestTile));
    if (!memory) return no_memory();
    sum_ = reinterpret_cast<T*>(memory);
    packed_a_ = sum_ + kPackedTile * kPackedTile;
    packed_b_ = packed_a_ + kPackedTile * kDepth;
    line_ = packed_b_ + kPackedTile * kDepth;
    raw_ = reinterpret_cast<char*>(line_ + kLargestTile);
    // The tile may be a large one, made for the library.
    for (int64_t i = 0; i < rows_; i += kPackedTile) {
      for (int64_t j = 0; j < columns_; j += kPackedTile) {
        run_packed(i, j, std::min(kPackedTile, rows_ - i), std::min(kPackedTile, columns_ - j), product);
      }
    }
    return infinirtSuccess;
  }

 private:
  static infinirtError_t no_memory() {
    infinirtXSetLastError(infinirtErrorMemoryAllocation, "infiniop: no host memory for the tile of a matrix product");
    return infinirtErrorMemoryAllocation;
  }

  bool run_direct() {
    const Major a = major_of(p_.m, p_.k, p_.a), b = major_of(p_.k, p_.n, p_.b), c = major_of(p_.m, p_.n, p_.c);
    return multiply<T>(*work_.blas, rows_, columns_, p_.k, static_cast<T>(work_.alpha),
                       {reinterpret_cast<const T*>(a_), a.leading, a.transposed},
                       {reinterpret_cast<const T*>(b_), b.leading, b.transposed}, static_cast<T>(work_.beta),
                       reinterpret_cast<T*>(c_), c.leading);
  }

  void run_packed(int64_t i, int64_t j, int64_t rows, int64_t columns, bool product) {
    std::fill_n(sum_, product ? 0 : rows * columns, T(0));
    for (int64_t k = 0; product && k < p_.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, p_.k - k);
      pack(packed_a_, a_ + (i * p_.a.row_stride + k * p_.a.column_stride) * size_, p_.a, rows, depth);
      pack(packed_b_, b_ + (k * p_.b.row_stride + j * p_.b.column_stride) * size_, p_.b, depth, columns);
      const T before = k > 0 ? T(1) : T(0);
      if (work_.blas) {
        multiply<T>(*work_.blas, rows, columns, depth, T(1), {packed_a_, depth, false}, {packed_b_, columns, false},
                    before, sum_, columns);
      } else {
        if (k == 0) std::fill_n(sum_, rows * columns, T(0));
        own_product(rows, columns, depth);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      put(sum_ + r * columns, c_ + ((i + r) * p_.c.row_stride + j * p_.c.column_stride) * size_, columns);
    }
  }

  void own_product(int64_t rows, int64_t columns, int64_t depth) {
    if constexpr (sizeof(T) == 4) {
      tiles().multiply_f32(rows, columns, depth, packed_a_, packed_b_, sum_);
    } else {
      tiles().multiply_f64(rows, columns, depth, packed_a_, packed_b_, sum_);
    }
  }

  // Elements at any distance, side by side as T.
  void widen(T* to, const char* from, int64_t step, int64_t count) {
    const ConvertTile convert = work_.dtype == INFINI_DTYPE_F16    ? tiles().from_float16
                                : work_.dtype == INFINI_DTYPE_BF16 ? tiles().from_bfloat16
                                                                   : nullptr;
    const auto size = static_cast<size_t>(size_);
    if (!convert) {
      if (step == 1) {
        std::memcpy(to, from, static_cast<size_t>(count) * size);
      } else {
        copy_strided(size, reinterpret_cast<char*>(to), 1, from, step, count);
      }
      return;
    }
    if (step != 1) {
      copy_strided(size, raw_, 1, from, step, count);
      from = raw_;
    }
    convert(static_cast<size_t>(count), to, from);
  }

  // A part of a matrix, in rows.
  void pack(T* to, const char* from, const Matrix& matrix, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
      widen(to + r * columns, from + r * matrix.row_stride * size_, matrix.column_stride, columns);
    }
  }

  // A row of sums to its place in c.
  void put(T* sums, char* to, int64_t count) {
    const auto alpha = static_cast<T>(work_.alpha), beta = static_cast<T>(work_.beta);
    if (beta != T(0)) {
      widen(line_, to, p_.c.column_stride, count);
      for (int64_t i = 0; i < count; ++i) sums[i] = alpha * sums[i] + beta * line_[i];
    } else {
      for (int64_t i = 0; i < count; ++i) sums[i] = alpha * sums[i];
    }
    const ConvertTile convert = work_.dtype == INFINI_DTYPE_F16    ? tiles().to_float16
                                : work_.dtype == INFINI_DTYPE_BF16 ? tiles().to_bfloat16
                                                                   : nullptr;
    const char* from = reinterpret_cast<const char*>(sums);
    if (convert) {
      convert(static_cast<size_t>(count), raw_, sums);
      from = raw_;
    }
    copy_strided(static_cast<size_t>(size_), to, p_.c.column_stride, from, 1, count);
  }

  const GemmWork& work_;
  const Product& p_;
  const int64_t size_;
  int64_t row_, column_, rows_, columns_;
  char* c_;
  const char *a_, *b_;
  T *sum_, *packed_a_, *packed_b_, *line_;
  char* raw_;
};

infinirtError_t run_gemm(const infinirtXBlock* block, void** args) {
  const auto& work = *static_cast<const GemmWork*>(args[0]);
  auto* c = *static_cast<char**>(args[1]);
  const auto *a = *static_cast<const char**>(args[2]), *b = *static_cast<const char**>(args[3]);
  // A grid may have fewer blocks than there are tiles.
  const int64_t tiles = work.product.batch * work.columns * work.down;
  for (int64_t tile = block->blockIdx.x; tile < tiles; tile += block->gridDim.x) {
    const infinirtError_t error = work.dtype == INFINI_DTYPE_F64 ? Tile<double>(work, c, a, b, tile).run()
                                                                 : Tile<float>(work, c, a, b, tile).run();
    if (error) return error;
  }
  return infinirtSuccess;
}

// Whether the machine computes eight floats at a time or more.
bool has_wide_vectors() {
#ifdef INFINIOP_X86_LEVELS
  return &tiles() != &tiles_plain;
#else
  return find_blas() == nullptr;
#endif
}

class PreparedGemm final : public Prepared {
 public:
  explicit PreparedGemm(const Plan& plan) : work_{} {
    Product& p = work_.product;
    p = plan.product;
    work_.dtype = plan.dtype[0];
    work_.blas = find_blas();
    for (const bool turned : {false, true}) {
      const Product each = turned ? transposed(plan.product) : plan.product;
      work_.across = each.b.column_stride == 1 && each.n >= kFewestAcross && each.b.row_stride != 1;
      work_.few = work_.dtype != INFINI_DTYPE_F64 && each.m <= kMostFewRows && each.a.column_stride == 1 &&
                  (each.b.row_stride == 1 || work_.across);
      if (!work_.few) continue;
      p = each;
      turned_ = turned;
      choose_columns();
      return;
    }
    const Major c = major_of(p.m, p.n, p.c);
    turned_ = c.possible && c.transposed;
    if (turned_) p = transposed(p);
    const bool computed = work_.dtype == INFINI_DTYPE_F32 || work_.dtype == INFINI_DTYPE_F64;
    // The library's own loops for floats gain nothing over these where processors have wide vectors.
    work_.packed = work_.dtype != INFINI_DTYPE_F64 && has_wide_vectors();
    work_.direct = !work_.packed && work_.blas && computed && c.possible && major_of(p.m, p.k, p.a).possible &&
                   major_of(p.k, p.n, p.b).possible;
    choose_tiles();
  }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace&,
                         infinirtStream_t stream) const override {
    GemmWork work = work_;
    work.alpha = plan.attributes[0];
    work.beta = plan.attributes[1];
    // A transposed product is that of b and a.
    void *c = operands[0], *a = operands[turned_ ? 2 : 1], *b = operands[turned_ ? 1 : 2];
    void* args[] = {&work, &c, &a, &b};
    const auto blocks = static_cast<unsigned>(std::min(work.product.batch * work.columns * work.down, kMostBlocks));
    return infinirtXLaunchComputation(reinterpret_cast<const void*>(&run_gemm), {blocks, 1, 1}, args, cost_ns(),
                                      stream);
  }

 private:
  // By multiplications or by what has to be read, whichever takes longer.
  unsigned long long cost_ns() const {
    const Product& p = work_.product;
    const double multiplications = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    const double read =
        static_cast<double>(p.m + p.n) * static_cast<double>(p.k) * static_cast<double>(size_of(work_.dtype));
    constexpr double kByte_ns = 0.05;
    return static_cast<unsigned long long>(static_cast<double>(p.batch) *
                                           std::max(multiplication_ns() * multiplications, kByte_ns * read));
  }

  // Of one core, what is brought and put included. An estimate that is ten times too long leaves to a worker what the caller had better do itself.
  double multiplication_ns() const {
    if (work_.dtype == INFINI_DTYPE_BF16 && work_.product.m > 1 && multiplies_tiles()) return 0.002;
    return work_.packed ? 0.0125 : 0.02;
  }

  void choose_columns() {
    const Product& p = work_.product;
    const auto row = static_cast<int64_t>(size_of(work_.dtype)) * std::max<int64_t>(1, p.k);
    work_.tile_m = kMostFewRows;
    work_.down = 1;
    // Every block brings the few rows anew: it has many more of the others, as long as there are enough blocks.
    const int64_t most = std::max<int64_t>(8, p.n / (4 * processors()) / 8 * 8);
    // Tiles have room for more rows than there are.
    const int64_t brought = work_.dtype == INFINI_DTYPE_BF16 && p.m > 1 && multiplies_tiles() ? 16 : p.m;
    const int64_t bytes = std::max(kFewRowsBytes, 8 * brought * row);
    work_.tile_n = std::clamp<int64_t>(std::min(bytes / row / 8 * 8, most), 8, 1024);
    // Of lines that lie across, long parts: each begins a page. One of 4,096 floats is read at 27 GB/s, parts of 1,024 at 25 and of 512 at 22 (AMX's Xeon).
    // Sums of all rows stay in the first-level cache.
    const int64_t longest = std::clamp<int64_t>(8192 / std::max<int64_t>(1, p.m), 1024, 4096);
    if (work_.across) work_.tile_n = std::clamp<int64_t>(p.n / processors() / 32 * 32, kFewestAcross, longest);
    work_.columns = (p.n + work_.tile_n - 1) / work_.tile_n;
  }

  // All rows that share what is brought of b, and two tiles for each processor, or one of small products: every tile brings all of its rows of a.
  void choose_packed_tiles() {
    const Product& p = work_.product;
    work_.tile_m = work_.dtype == INFINI_DTYPE_F32 ? kPackedRows : kPackedRowsNarrow;
    work_.tile_n = work_.dtype == INFINI_DTYPE_BF16 && multiplies_tiles() ? kTiledColumns : packed_columns();
    const auto count = [&] {
      work_.down = (p.m + work_.tile_m - 1) / work_.tile_m;
      work_.columns = (p.n + work_.tile_n - 1) / work_.tile_n;
      return p.batch * work_.down * work_.columns;
    };
    constexpr int64_t kSmall = int64_t{1} << 28;  // multiplications
    const int64_t threads = processors(), wanted = threads > 1 && p.m * p.n * p.k >= kSmall ? 2 * threads : threads;
    while (count() < wanted) {
      if (work_.tile_n > 64 && p.n > 64) {
        work_.tile_n /= 2;  // what is brought of b is brought once
      } else if (work_.tile_m > 48) {
        work_.tile_m /= 2;
      } else {
        break;
      }
    }
  }

  // Large tiles, but several for each processor.
  void choose_tiles() {
    if (work_.packed) return choose_packed_tiles();
    const Product& p = work_.product;
    const int64_t wanted = 8 * processors();
    const int64_t largest = work_.direct ? kLargestTile : kPackedTile;
    work_.tile_m = work_.tile_n = largest;
    const auto count = [&] {
      work_.down = (p.m + work_.tile_m - 1) / work_.tile_m;
      work_.columns = (p.n + work_.tile_n - 1) / work_.tile_n;
      return p.batch * work_.down * work_.columns;
    };
    while (count() < wanted) {
      int64_t& longer = std::min(work_.tile_m, p.m) >= std::min(work_.tile_n, p.n) ? work_.tile_m : work_.tile_n;
      if (longer <= kSmallestTile) break;
      longer /= 2;
    }
  }

  GemmWork work_;
  bool turned_ = false;
};

}  // namespace

#ifdef INFINIOP_X86_LEVELS
namespace v3 {
extern const MultiplyFewRows multiply_few_rows;
extern const MultiplyPacked multiply_packed;
}  // namespace v3
namespace v4 {
extern const MultiplyFewRows multiply_few_rows;
extern const MultiplyPacked multiply_packed;
}  // namespace v4
#endif

MultiplyFewRows few_rows() {
#ifdef INFINIOP_X86_LEVELS
  if (&tiles() == &tiles_v4) return v4::multiply_few_rows;
  if (&tiles() == &tiles_v3) return v3::multiply_few_rows;
#endif
  return plain::multiply_few_rows;
}

int64_t packed_columns() {
  static const int64_t columns = [] {
    const int64_t cache = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 256 << 10);  // 0: not known
    constexpr int64_t kColumnBytes = 256 * sizeof(float);  // kPanelDepth of every instruction set
    return std::clamp<int64_t>(cache / 2 / kColumnBytes / 64 * 64, 256, 1024);
  }();
  return columns;
}

MultiplyPacked packed_product() {
#ifdef INFINIOP_X86_LEVELS
  if (&tiles() == &tiles_v4) return v4::multiply_packed;
  if (&tiles() == &tiles_v3) return v3::multiply_packed;
#endif
  return plain::multiply_packed;
}

std::unique_ptr<Prepared> prepare_gemm(const Plan& plan, infinirtError_t* error) {
  const size_t sizes[] = {sizeof(GemmWork), sizeof(void*), sizeof(void*), sizeof(void*)};
  const infinirtXKernelInfo info{plan.info->name, run_gemm, sizes, 4, 0};
  if ((*error = infinirtXRegisterKernel(&info))) return nullptr;
  return std::make_unique<PreparedGemm>(plan);
}

}  // namespace infiniop::cpu
