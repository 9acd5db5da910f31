#include "op/nvidia/cudnn_attention.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "infinicore.h"
#include "op/runtime.h"

namespace infiniop::nvidia {

namespace {

// Descriptors that belong together; they are destroyed with it, the last one first. Once something fails, the rest does nothing.
class Descriptors {
 public:
  explicit Descriptors(const Cudnn& library) : library_(library) {}
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    while (!all_.empty()) {
      library_.BackendDestroyDescriptor(all_.back());
      all_.pop_back();
    }
  }

  bool failed() const { return status_ != 0; }
  DnnStatus status() const { return status_; }

  DnnDescriptor create(int kind) {
    DnnDescriptor made = nullptr;
    if (failed()) return nullptr;
    status_ = library_.BackendCreateDescriptor(kind, &made);
    if (!failed()) all_.push_back(made);
    return made;
  }
  template <class T>
  void set(DnnDescriptor of, int attribute, int type, const T* values, size_t count) {
    if (!failed()) status_ = library_.BackendSetAttribute(of, attribute, type, static_cast<int64_t>(count), values);
  }
  template <class T>
  void set(DnnDescriptor of, int attribute, int type, T value) {
    set(of, attribute, type, &value, 1);
  }
  DnnDescriptor finish(DnnDescriptor made) {
    if (!failed()) status_ = library_.BackendFinalize(made);
    return made;
  }

 private:
  const Cudnn& library_;
  DnnStatus status_ = 0;
  std::vector<DnnDescriptor> all_;
};

// What addresses are called in a variant pack.
enum : int64_t { kQ = 1, kK, kV, kOut, kScale, kHidden, kKeys, kQueries, kFirstVirtual = 100 };

class Graph {
 public:
  Graph(Descriptors& made, const CudnnAttentionShape& shape) : made_(made), shape_(shape) {}

  // All operations of an attention.
  std::vector<DnnDescriptor> build() {
    const CudnnAttentionShape& s = shape_;
    const int dtype = s.dtype == INFINI_DTYPE_BF16 ? kDnnBF16 : kDnnF16;
    const DnnDescriptor q = memory(kQ, dtype, {s.sequences, s.heads, s.queries, s.d}, s.q_stride),
                        v = memory(kV, dtype, {s.sequences, s.groups, s.keys, s.d}, s.v_stride),
                        out = memory(kOut, dtype, {s.sequences, s.heads, s.queries, s.d}, s.out_stride);
    const int64_t turned[] = {s.k_stride[0], s.k_stride[1], s.k_stride[3], s.k_stride[2]};
    const DnnDescriptor k = memory(kK, dtype, {s.sequences, s.groups, s.d, s.keys}, turned);

    DnnDescriptor scores = matmul(q, k, score(kDnnF32));
    scores = pointwise(kDnnMultiply, scores, score(kDnnF32), number(kScale, kDnnF32));
    if (s.is_causal) scores = hide_later_keys(scores);

    const DnnDescriptor largest = reduction(kDnnMax, scores);
    const DnnDescriptor reduced = pointwise(kDnnSubtract, scores, score(kDnnF32), largest);
    const DnnDescriptor weights = pointwise(kDnnExp, reduced, score(kDnnF32));
    const DnnDescriptor total = reduction(kDnnSum, weights);
    // Nobody reads this logarithm; without it the library does not take the graph for an attention.
    pointwise(kDnnAdd, largest, of_rows(), pointwise(kDnnLog, total, of_rows()));
    matmul(pointwise(kDnnDivide, weights, score(dtype), total), v, out);
    return std::move(operations_);
  }

 private:
  DnnDescriptor hide_later_keys(DnnDescriptor scores) {
    DnnDescriptor row = index_along(2, scores);
    if (shape_.keys != shape_.queries) {
      row = pointwise(kDnnAdd, row, score(kDnnI32), number(kKeys, kDnnI32), nullptr, kDnnI32);
      row = pointwise(kDnnSubtract, row, score(kDnnI32), number(kQueries, kDnnI32), nullptr, kDnnI32);
    }
    const DnnDescriptor column = index_along(3, scores);
    const DnnDescriptor is_seen = pointwise(kDnnNotLess, row, score(kDnnBool), column, nullptr, kDnnBool);
    return pointwise(kDnnSelect, scores, score(kDnnF32), number(kHidden, kDnnF32), is_seen);
  }

  DnnDescriptor tensor(int64_t name, int dtype, const int64_t* sizes, const int64_t* strides, bool is_virtual,
                       bool is_number) {
    const DnnDescriptor made = made_.create(kDnnTensor);
    made_.set(made, 900, kDnnOfInt64, int64_t{16});  // alignment
    made_.set(made, 901, kDnnOfDataType, dtype);
    made_.set(made, 902, kDnnOfInt64, sizes, 4);
    made_.set(made, 903, kDnnOfInt64, strides, 4);
    made_.set(made, 906, kDnnOfInt64, name);
    if (is_virtual) made_.set(made, 907, kDnnOfBool, true);
    if (is_number) made_.set(made, 908, kDnnOfBool, true);
    return made_.finish(made);
  }
  DnnDescriptor memory(int64_t name, int dtype, const int64_t (&sizes)[4], const int64_t* strides) {
    return tensor(name, dtype, sizes, strides, false, false);
  }
  DnnDescriptor number(int64_t name, int dtype) {
    const int64_t ones[] = {1, 1, 1, 1};
    return tensor(name, dtype, ones, ones, false, true);
  }
  // One for each query and key, never in memory.
  DnnDescriptor score(int dtype) {
    const CudnnAttentionShape& s = shape_;
    const int64_t sizes[] = {s.sequences, s.heads, s.queries, s.keys};
    const int64_t strides[] = {s.heads * s.queries * s.keys, s.queries * s.keys, s.keys, 1};
    return tensor(next_++, dtype, sizes, strides, true, false);
  }
  DnnDescriptor of_rows() {
    const CudnnAttentionShape& s = shape_;
    const int64_t sizes[] = {s.sequences, s.heads, s.queries, 1};
    const int64_t strides[] = {s.heads * s.queries, s.queries, 1, 1};
    return tensor(next_++, kDnnF32, sizes, strides, true, false);
  }

  DnnDescriptor pointwise(int mode, DnnDescriptor x, DnnDescriptor y, DnnDescriptor b = nullptr,
                          DnnDescriptor choice = nullptr, int computed = kDnnF32, int64_t axis = -1) {
    const DnnDescriptor what = made_.create(kDnnPointwise);
    made_.set(what, 0, kDnnOfPointwiseMode, mode);
    made_.set(what, 1, kDnnOfDataType, computed);
    if (axis >= 0) made_.set(what, 9, kDnnOfInt64, axis);
    made_.finish(what);
    const DnnDescriptor operation = made_.create(kDnnPointwiseOperation);
    made_.set(operation, 750, kDnnOfDescriptor, what);
    made_.set(operation, 751, kDnnOfDescriptor, x);
    if (b) made_.set(operation, 752, kDnnOfDescriptor, b);
    if (choice) made_.set(operation, 758, kDnnOfDescriptor, choice);
    made_.set(operation, 753, kDnnOfDescriptor, y);
    operations_.push_back(made_.finish(operation));
    return y;
  }
  DnnDescriptor index_along(int64_t axis, DnnDescriptor scores) {
    return pointwise(kDnnIndex, scores, score(kDnnI32), nullptr, nullptr, kDnnF32, axis);
  }
  DnnDescriptor matmul(DnnDescriptor a, DnnDescriptor b, DnnDescriptor c) {
    const DnnDescriptor what = made_.create(kDnnMatmul);
    made_.set(what, 1500, kDnnOfDataType, int{kDnnF32});
    made_.finish(what);
    const DnnDescriptor operation = made_.create(kDnnMatmulOperation);
    made_.set(operation, 1520, kDnnOfDescriptor, a);
    made_.set(operation, 1521, kDnnOfDescriptor, b);
    made_.set(operation, 1522, kDnnOfDescriptor, c);
    made_.set(operation, 1523, kDnnOfDescriptor, what);
    operations_.push_back(made_.finish(operation));
    return c;
  }
  DnnDescriptor reduction(int mode, DnnDescriptor x) {
    const DnnDescriptor what = made_.create(kDnnReduction), y = of_rows();
    made_.set(what, 1600, kDnnOfReductionMode, mode);
    made_.set(what, 1601, kDnnOfDataType, int{kDnnF32});
    made_.finish(what);
    const DnnDescriptor operation = made_.create(kDnnReductionOperation);
    made_.set(operation, 1610, kDnnOfDescriptor, x);
    made_.set(operation, 1611, kDnnOfDescriptor, y);
    made_.set(operation, 1612, kDnnOfDescriptor, what);
    operations_.push_back(made_.finish(operation));
    return y;
  }

  Descriptors& made_;
  const CudnnAttentionShape& shape_;
  std::vector<DnnDescriptor> operations_;
  int64_t next_ = kFirstVirtual;
};

class CudnnAttention final : public LibraryCall {
 public:
  CudnnAttention(const Cudnn& library, DnnContext& context, const CudnnAttentionShape& shape, const int (&tensors)[4])
      : library_(library), context_(context), shape_(shape), made_(library) {
    std::copy(tensors, tensors + 4, tensors_);
  }

  bool prepare() {
    std::lock_guard guard(context_.mutex);
    const std::vector<DnnDescriptor> operations = Graph(made_, shape_).build();
    const DnnDescriptor graph = made_.create(kDnnGraph);
    made_.set(graph, 800, kDnnOfHandle, context_.handle);
    made_.set(graph, 801, kDnnOfDescriptor, operations.data(), operations.size());
    made_.finish(graph);
    const DnnDescriptor heuristics = made_.create(kDnnHeuristics);
    made_.set(heuristics, 200, kDnnOfHeuristicMode, int{kDnnModeA});
    made_.set(heuristics, 201, kDnnOfDescriptor, graph);
    made_.finish(heuristics);
    DnnDescriptor configuration = made_.create(kDnnConfiguration);
    if (made_.failed()) return false;
    // The best one.
    int64_t found = 0;
    if (library_.BackendGetAttribute(heuristics, 202, kDnnOfDescriptor, 1, &found, &configuration) || found < 1) {
      return false;
    }
    plan_ = made_.create(kDnnPlan);
    made_.set(plan_, 400, kDnnOfHandle, context_.handle);
    made_.set(plan_, 401, kDnnOfDescriptor, configuration);
    made_.finish(plan_);
    int64_t size = 0, count = 0;
    if (made_.failed() || library_.BackendGetAttribute(plan_, 402, kDnnOfInt64, 1, &count, &size)) return false;
    workspace_size_ = static_cast<size_t>(size);
    return true;
  }

  size_t workspace_size() const override { return workspace_size_ + kAlignment; }

  bool takes(void* const* addresses) const override {
    return std::all_of(tensors_, tensors_ + 4,
                       [&](int t) { return reinterpret_cast<uintptr_t>(addresses[t]) % 16 == 0; });
  }

  infinirtError_t launch(void* const* addresses, void* workspace, infinirtStream_t stream) const override {
    float scale = shape_.scale, hidden = -3.4028234663852886e38f;
    auto keys = static_cast<int32_t>(shape_.keys), queries = static_cast<int32_t>(shape_.queries);
    const int64_t names[] = {kQ, kK, kV, kOut, kScale, kHidden, kKeys, kQueries};
    void* const places[] = {addresses[tensors_[0]],
                            addresses[tensors_[1]],
                            addresses[tensors_[2]],
                            addresses[tensors_[3]],
                            &scale,
                            &hidden,
                            &keys,
                            &queries};
    const auto given = reinterpret_cast<uintptr_t>(workspace);
    void* const memory = reinterpret_cast<void*>((given + kAlignment - 1) / kAlignment * kAlignment);
    // Only what the graph has.
    const size_t count = !shape_.is_causal ? 5 : shape_.keys == shape_.queries ? 6 : 8;
    std::lock_guard guard(context_.mutex);
    Descriptors made(library_);
    const DnnDescriptor pack = made.create(kDnnVariantPack);
    made.set(pack, 1000, kDnnOfInt64, names, count);
    made.set(pack, 1001, kDnnOfPointer, places, count);
    made.set(pack, 1003, kDnnOfPointer, memory);
    made.finish(pack);
    if (made.failed()) return library_.check(made.status(), "placing attention");
    if (auto error = library_.check(library_.SetStream(context_.handle, stream), "setting its stream")) return error;
    return library_.check(library_.BackendExecute(context_.handle, plan_, pack), "attention");
  }

 private:
  static constexpr size_t kAlignment = 256;  // of the workspace

  const Cudnn& library_;
  DnnContext& context_;
  const CudnnAttentionShape shape_;
  int tensors_[4];
  Descriptors made_;
  DnnDescriptor plan_ = nullptr;
  size_t workspace_size_ = 0;
};

}  // namespace

std::unique_ptr<LibraryCall> make_cudnn_attention(const CudnnAttentionShape& shape, const int (&tensors)[4]) {
  const Cudnn* library = find_cudnn();
  if (!library) return nullptr;
  DnnContext* context = find_dnn_context(*library);
  if (!context) return nullptr;
  auto made = std::make_unique<CudnnAttention>(*library, *context, shape, tensors);
  if (!made->prepare()) return nullptr;
  return made;
}

}  // namespace infiniop::nvidia
