// The operator library from C++, on memory of the runtime's own: streams, threads, graphs, isolated memory. What each operator
// computes is compared with references in tests/ops.
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "infiniop.h"
#include "support.h"

#define DONE(call) CHECK_EQ(call, INFINI_STATUS_SUCCESS)

namespace {

infiniopTensorDescriptor_t tensor(std::vector<size_t> shape, std::vector<ptrdiff_t> strides = {},
                                  infiniDtype_t dtype = INFINI_DTYPE_F32) {
  infiniopTensorDescriptor_t made = nullptr;
  DONE(infiniopCreateTensorDescriptor(&made, shape.size(), shape.data(), strides.empty() ? nullptr : strides.data(),
                                      dtype));
  return made;
}

struct Operators {
  infiniopHandle_t handle = nullptr;
  Operators() { DONE(infiniopCreateHandle(&handle)); }
  ~Operators() { DONE(infiniopDestroyHandle(handle)); }

  infiniopAddDescriptor_t add(std::vector<size_t> shape, std::vector<ptrdiff_t> strides_of_b = {}) const {
    infiniopTensorDescriptor_t c = tensor(shape), b = tensor(shape, strides_of_b);
    infiniopAddDescriptor_t made = nullptr;
    DONE(infiniopCreateAddDescriptor(handle, &made, c, c, b));
    DONE(infiniopDestroyTensorDescriptor(c));
    DONE(infiniopDestroyTensorDescriptor(b));
    return made;
  }
};

class Memory {
 public:
  explicit Memory(std::vector<float> content) : count_(content.size()) {
    OK(infinirtMalloc(&memory_, count_ * sizeof(float)));
    OK(infinirtMemcpy(memory_, content.data(), count_ * sizeof(float), infinirtMemcpyHostToDevice));
  }
  ~Memory() { OK(infinirtFree(memory_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  float* at(size_t index = 0) const { return static_cast<float*>(memory_) + index; }
  std::vector<float> read() const {
    std::vector<float> content(count_);
    OK(infinirtMemcpy(content.data(), memory_, count_ * sizeof(float), infinirtMemcpyDeviceToHost));
    return content;
  }

 private:
  void* memory_ = nullptr;
  size_t count_;
};

std::vector<float> counting(size_t count, float first = 0) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = first + static_cast<float>(i % 1000);
  return numbers;
}

}  // namespace

TEST(work_is_ordered_by_its_stream) {
  const Operators operators;
  constexpr size_t kCount = 100000;
  const Memory sum(counting(kCount)), one(std::vector<float>(kCount, 1));
  infinirtStream_t stream = make_stream();
  infiniopAddDescriptor_t add = operators.add({kCount});
  for (int i = 0; i < 20; ++i) DONE(infiniopAdd(add, nullptr, 0, sum.at(), sum.at(), one.at(), stream));
  DONE(infiniopDestroyAddDescriptor(add));  // what was enqueued goes on
  OK(infinirtStreamSynchronize(stream));
  CHECK(sum.read() == counting(kCount, 20));
  OK(infinirtStreamDestroy(stream));
}

TEST(strides_may_run_backwards) {
  const Operators operators;
  const Memory a(std::vector<float>(6, 0)), b({1, 2, 3, 4, 5, 6}), c(std::vector<float>(6, 9));
  infiniopAddDescriptor_t add = operators.add({2, 3}, {-3, -1});
  DONE(infiniopAdd(add, nullptr, 0, c.at(), a.at(), b.at(5), nullptr));
  CHECK(c.read() == std::vector<float>({6, 5, 4, 3, 2, 1}));
  DONE(infiniopDestroyAddDescriptor(add));
}

TEST(a_captured_operator_is_a_kernel_of_its_graph) {
  const Operators operators;
  const Memory sum(std::vector<float>(3000, 0)), one(std::vector<float>(3000, 1));
  infinirtStream_t stream = make_stream();
  infiniopAddDescriptor_t add = operators.add({3000});
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
  for (int i = 0; i < 3; ++i) DONE(infiniopAdd(add, nullptr, 0, sum.at(), sum.at(), one.at(), stream));
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  OK(infinirtGraphGetNodes(graph, nullptr, &nodes));
  CHECK_EQ(nodes, 3u);
  infinirtGraphExec_t program = nullptr;
  OK(infinirtGraphInstantiate(&program, graph, 0));
  DONE(infiniopDestroyAddDescriptor(add));
  for (int i = 0; i < 5; ++i) OK(infinirtGraphLaunch(program, stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK(sum.read() == std::vector<float>(3000, 15));
  OK(infinirtGraphExecDestroy(program));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

TEST(threads_share_handles_and_descriptors) {
  const Operators operators;
  constexpr size_t kCount = 20000;
  infiniopAddDescriptor_t shared = operators.add({kCount});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Memory sum(counting(kCount)), one(std::vector<float>(kCount, 1));
      infinirtStream_t stream = make_stream();
      for (int i = 0; i < 10; ++i) {
        infiniopAddDescriptor_t own = operators.add({kCount / 100, 100});
        DONE(infiniopAdd(shared, nullptr, 0, sum.at(), sum.at(), one.at(), stream));
        DONE(infiniopAdd(own, nullptr, 0, sum.at(), sum.at(), one.at(), stream));
        DONE(infiniopDestroyAddDescriptor(own));
      }
      OK(infinirtStreamSynchronize(stream));
      CHECK(sum.read() == counting(kCount, 20));
      OK(infinirtStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  DONE(infiniopDestroyAddDescriptor(shared));
}

TEST(products_run_in_streams_of_several_threads_and_in_graphs) {
  const Operators operators;
  constexpr size_t kRows = 300, kColumns = 520, kDepth = 700;
  infiniopTensorDescriptor_t c = tensor({kRows, kColumns}), a = tensor({kRows, kDepth}),
                             b = tensor({kDepth, kColumns}, {1, kDepth}),
                             odd = tensor({kDepth, kColumns}, {2, 2 * kDepth});
  infiniopGemmDescriptor_t plain = nullptr, packed = nullptr;
  DONE(infiniopCreateGemmDescriptor(operators.handle, &plain, c, a, b));
  DONE(infiniopCreateGemmDescriptor(operators.handle, &packed, c, a, odd));
  for (auto made : {c, a, b, odd}) DONE(infiniopDestroyTensorDescriptor(made));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const Memory sum(std::vector<float>(kRows * kColumns, 1)), x(std::vector<float>(kRows * kDepth, 2)),
          y(std::vector<float>(2 * kDepth * kColumns, 3));
      infinirtStream_t stream = make_stream();
      OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
      DONE(infiniopGemm(plain, nullptr, 0, sum.at(), x.at(), y.at(), 0.5f, 1, stream));
      DONE(infiniopGemm(packed, nullptr, 0, sum.at(), x.at(), y.at(), 0.5f, 1, stream));
      infinirtGraph_t graph = nullptr;
      infinirtGraphExec_t program = nullptr;
      OK(infinirtStreamEndCapture(stream, &graph));
      OK(infinirtGraphInstantiate(&program, graph, 0));
      for (int i = 0; i < 2; ++i) OK(infinirtGraphLaunch(program, stream));
      OK(infinirtStreamSynchronize(stream));
      CHECK(sum.read() == std::vector<float>(kRows * kColumns, 1 + 4 * 3 * kDepth));
      OK(infinirtGraphExecDestroy(program));
      OK(infinirtGraphDestroy(graph));
      OK(infinirtStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  DONE(infiniopDestroyGemmDescriptor(plain));
  DONE(infiniopDestroyGemmDescriptor(packed));
}

TEST(rows_run_in_streams_of_several_threads) {
  const Operators operators;
  constexpr size_t kRows = 40, kLength = 3000, kLong = 70000;
  infiniopTensorDescriptor_t matrix = tensor({kRows, kLength}), row = tensor({kLength}), one = tensor({}),
                             turned = tensor({kRows, kLength}, {1, kRows}), all = tensor({kLong});
  infiniopAddRMSNormDescriptor_t norm = nullptr;
  infiniopSoftmaxDescriptor_t softmax = nullptr;
  infiniopSumDescriptor_t sum = nullptr;
  DONE(infiniopCreateAddRMSNormDescriptor(operators.handle, &norm, matrix, turned, matrix, turned, row, 0));
  DONE(infiniopCreateSoftmaxDescriptor(operators.handle, &softmax, turned, matrix, -1));
  DONE(infiniopCreateSumDescriptor(operators.handle, &sum, one, all, nullptr, 0, false));
  for (auto made : {matrix, row, one, turned, all}) DONE(infiniopDestroyTensorDescriptor(made));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const Memory a(std::vector<float>(kRows * kLength, 1)), b(std::vector<float>(kRows * kLength, 2)),
          y(std::vector<float>(kRows * kLength, 0)), weight(std::vector<float>(kLength, 5)), total({0});
      infinirtStream_t stream = make_stream();
      // Every element of a row is the same, so its norm is the weight, and its softmax one part of as many.
      DONE(infiniopAddRMSNorm(norm, nullptr, 0, y.at(), b.at(), a.at(), b.at(), weight.at(), stream));
      DONE(infiniopSoftmax(softmax, nullptr, 0, a.at(), y.at(), stream));
      DONE(infiniopSum(sum, nullptr, 0, total.at(), b.at(), nullptr, 0, false, stream));
      OK(infinirtStreamSynchronize(stream));
      CHECK(y.read() == std::vector<float>(kRows * kLength, 5));
      CHECK(b.read() == std::vector<float>(kRows * kLength, 3));
      const float part = a.read()[0];
      CHECK(part > 0.99f / kLength && part < 1.01f / kLength);
      CHECK(a.read() == std::vector<float>(kRows * kLength, part));
      CHECK(total.read()[0] == 3.0f * kLong);
      OK(infinirtStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  DONE(infiniopDestroyAddRMSNormDescriptor(norm));
  DONE(infiniopDestroySoftmaxDescriptor(softmax));
  DONE(infiniopDestroySumDescriptor(sum));
}

TEST(integers_wrap_around_and_divisions_do_not_trap) {
  const Operators operators;
  infiniopTensorDescriptor_t t = tensor({4}, {}, INFINI_DTYPE_I32);
  infiniopMulDescriptor_t mul = nullptr;
  infiniopFloorDivideDescriptor_t divide = nullptr;
  DONE(infiniopCreateMulDescriptor(operators.handle, &mul, t, t, t));
  DONE(infiniopCreateFloorDivideDescriptor(operators.handle, &divide, t, t, t));
  const int a[] = {INT32_MIN, INT32_MAX, -7, 5}, b[] = {-1, INT32_MAX, 2, 0};
  int product[4], quotient[4];
  DONE(infiniopMul(mul, nullptr, 0, product, a, b, nullptr));
  DONE(infiniopFloorDivide(divide, nullptr, 0, quotient, a, b, nullptr));
  OK(infinirtStreamSynchronize(nullptr));
  CHECK(std::vector<int>(product, product + 4) == std::vector<int>({INT32_MIN, 1, -14, 0}));
  CHECK(std::vector<int>(quotient, quotient + 4) == std::vector<int>({INT32_MIN, 1, -4, 0}));
  DONE(infiniopDestroyMulDescriptor(mul));
  DONE(infiniopDestroyFloorDivideDescriptor(divide));
  DONE(infiniopDestroyTensorDescriptor(t));
}

TEST(powers_remainders_and_shifts_of_integers_do_not_trap) {
  const Operators operators;
  infiniopTensorDescriptor_t t = tensor({5}, {}, INFINI_DTYPE_I64);
  const int64_t a[] = {INT64_MIN, INT64_MAX, -7, 5, -1}, b[] = {-1, 64, 2, 0, -3};
#define CHECK_INTEGERS(name, ...)                                                         \
  do {                                                                                    \
    infiniop##name##Descriptor_t made = nullptr;                                          \
    int64_t result[5];                                                                    \
    DONE(infiniopCreate##name##Descriptor(operators.handle, &made, t, t, t));             \
    DONE(infiniop##name(made, nullptr, 0, result, a, b, nullptr));                        \
    OK(infinirtStreamSynchronize(nullptr));                                               \
    CHECK(std::vector<int64_t>(result, result + 5) == std::vector<int64_t>(__VA_ARGS__)); \
    DONE(infiniopDestroy##name##Descriptor(made));                                        \
  } while (false)
  CHECK_INTEGERS(Remainder, {0, 63, 1, 0, -1});
  CHECK_INTEGERS(Pow, {0, 1, 49, 1, -1});
  CHECK_INTEGERS(Gcd, {1, 1, 1, 5, 1});
  CHECK_INTEGERS(Lcm, {INT64_MIN, -64, 14, 0, 3});
  CHECK_INTEGERS(BitwiseLeftShift, {0, 0, -28, 5, 0});
  CHECK_INTEGERS(BitwiseRightShift, {-1, 0, -2, 5, -1});
#undef CHECK_INTEGERS
  DONE(infiniopDestroyTensorDescriptor(t));
}

TEST(sums_of_integers_are_wide_and_choices_take_truth) {
  const Operators operators;
  infiniopTensorDescriptor_t narrow = tensor({2, 3}, {}, INFINI_DTYPE_I32), wide = tensor({2}, {}, INFINI_DTYPE_I64);
  infiniopTensorDescriptor_t truth = tensor({2, 3}, {}, INFINI_DTYPE_BOOL);
  const int x[] = {INT32_MAX, INT32_MAX, 1, INT32_MIN, INT32_MIN, -1}, y[] = {0, 1, 2, 3, 4, 5};
  const bool condition[] = {true, false, true, false, true, false};
  size_t dim[] = {1};
  infiniopSumDescriptor_t sum = nullptr;
  infiniopWhereDescriptor_t where = nullptr;
  int64_t total[2];
  int chosen[6];
  CHECK_EQ(infiniopCreateSumDescriptor(operators.handle, &sum, narrow, narrow, dim, 1, false),
           INFINI_STATUS_BAD_TENSOR_DTYPE);
  DONE(infiniopCreateSumDescriptor(operators.handle, &sum, wide, narrow, dim, 1, false));
  DONE(infiniopCreateWhereDescriptor(operators.handle, &where, narrow, truth, narrow, narrow));
  DONE(infiniopSum(sum, nullptr, 0, total, x, dim, 1, false, nullptr));
  DONE(infiniopWhere(where, nullptr, 0, chosen, condition, x, y, nullptr));
  OK(infinirtStreamSynchronize(nullptr));
  CHECK_EQ(total[0], int64_t{INT32_MAX} * 2 + 1);
  CHECK_EQ(total[1], int64_t{INT32_MIN} * 2 - 1);
  CHECK(std::vector<int>(chosen, chosen + 6) == std::vector<int>({INT32_MAX, 1, 1, 3, INT32_MIN, 5}));
  DONE(infiniopDestroySumDescriptor(sum));
  DONE(infiniopDestroyWhereDescriptor(where));
  for (infiniopTensorDescriptor_t each : {narrow, wide, truth}) DONE(infiniopDestroyTensorDescriptor(each));
  (void)infinirtGetLastError();
}

TEST(bad_pointers_are_refused) {
  const Operators operators;
  infiniopAddDescriptor_t add = operators.add({4});
  const Memory memory({1, 2, 3, 4});
  CHECK_EQ(infiniopAdd(add, nullptr, 0, memory.at(), nullptr, memory.at(), nullptr), INFINI_STATUS_NULL_POINTER);
  CHECK_EQ(std::string(infinirtXGetLastErrorMessage()), "infiniopAdd: a is null, but its tensor has elements");
  CHECK_EQ(infinirtGetLastError(), infinirtErrorInvalidValue);
  DONE(infiniopDestroyAddDescriptor(add));
  CHECK_EQ(infiniopDestroyAddDescriptor(add), INFINI_STATUS_BAD_PARAM);
  CHECK_EQ(infiniopAdd(add, nullptr, 0, memory.at(), memory.at(), memory.at(), nullptr), INFINI_STATUS_BAD_PARAM);
  // More than one generation of descriptors later, in the same memory.
  for (int i = 0; i < 1000; ++i) DONE(infiniopDestroyAddDescriptor(operators.add({4})));
  CHECK_EQ(infiniopDestroyAddDescriptor(reinterpret_cast<infiniopAddDescriptor_t>(&add)), INFINI_STATUS_BAD_PARAM);
  (void)infinirtGetLastError();
}

TEST_MAIN()
