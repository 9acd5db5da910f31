#include "kernels.h"

#include <complex>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "half.h"
#include "host_work.h"
#include "loop.h"
#include "phi.h"

namespace infinirt::paddle {

namespace {

[[noreturn]] void fail(const char* message) { throw std::runtime_error(message); }

struct Bytes16 {
  uint64_t words[2];
};

// Calls `function` with a value of a type that is as large as an element.
template <class Function>
void with_element_of(size_t bytes, Function function) {
  switch (bytes) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    case 8:
      return function(uint64_t{});
    default:
      return function(Bytes16{});
  }
}

// ---- contiguous and strided_copy: the same copy, once into a new tensor, once into a part of an old one ---------------

void copy_strided(infinirtPluginStream_t stream, size_t element, const Sizes& dims, void* to, const Sizes& to_strides,
                  const void* from, const Sizes& from_strides) {
  Loop<2> loop(dims, {to_strides, from_strides});
  if (loop.empty()) return;
  const std::vector<Operand> operands = {{to, static_cast<size_t>(loop.extent(0)) * element, true},
                                         {from, static_cast<size_t>(loop.extent(1)) * element, false}};
  enqueue_host_work(stream, operands, [loop = std::move(loop), element](const std::vector<char*>& at) {
    with_element_of(element, [&]<class T>(T) {
      auto* to = reinterpret_cast<T*>(at[0]);
      const auto* from = reinterpret_cast<const T*>(at[1]);
      loop.for_each_row([&](const auto& offsets, int64_t count, const auto& steps) {
        T* row_to = to + offsets[0];
        const T* row_from = from + offsets[1];
        if (steps[0] == 1 && steps[1] == 1) {
          std::memmove(row_to, row_from, static_cast<size_t>(count) * sizeof(T));
        } else {
          for (int64_t i = 0; i < count; ++i) row_to[i * steps[0]] = row_from[i * steps[1]];
        }
      });
    });
  });
}

void contiguous(const DeviceContext* context, const Tensor* input, Tensor* out) {
  const DataType type = type_of(input);
  const Sizes dims = dims_of(input), strides = strides_of(input);
  const void* from = data_of(input);
  set_dims(out, dims);
  set_strides(out, contiguous_strides(dims));
  set_offset(out, 0);
  void* to = allocate(context, out, type);
  copy_strided(stream_of_context(context), bytes_of(type), dims, to, contiguous_strides(dims), from, strides);
}

void contiguous_in(KernelContext* context) {
  contiguous(phi().PD_KernelContextGetDeviceContext(context), phi().PD_KernelContextInputAt(context, 0),
             phi().PD_KernelContextOutputAt(context, 0));
}

Sizes sizes_in(List list) {
  const auto* values = static_cast<const int64_t*>(list.data);
  return {values, values + list.size};
}

void strided_copy(const DeviceContext* context, const Tensor* input, const Sizes& dims, const Sizes& strides,
                  int64_t offset, Tensor* out) {
  if (dims_of(input) != dims) fail("infinirt: strided_copy: the shapes of source and destination differ");
  const size_t element = bytes_of(type_of(input));
  set_dims(out, dims);
  set_strides(out, strides);
  set_offset(out, offset);
  copy_strided(stream_of_context(context), element, dims, data_of(out), strides, data_of(input), strides_of(input));
}

void strided_copy_of(const DeviceContext* context, const Tensor* input, void* dims, void* strides, int64_t offset,
                     Tensor* out) {
  strided_copy(context, input, sizes_in(phi().PD_ListInt64Attr(dims)), sizes_in(phi().PD_ListInt64Attr(strides)),
               offset, out);
}

void strided_copy_in(KernelContext* context) {
  strided_copy(phi().PD_KernelContextGetDeviceContext(context), phi().PD_KernelContextInputAt(context, 0),
               sizes_in(phi().PD_KernelContextListInt64AttrAt(context, 0)),
               sizes_in(phi().PD_KernelContextListInt64AttrAt(context, 1)),
               phi().PD_KernelContextInt64AttrAt(context, 2), phi().PD_KernelContextOutputAt(context, 0));
}

// ---- full --------------------------------------------------------------------------------------------------------------

// The element as its bytes, from the first one on.
template <DataType Type>
uint64_t element_from(Scalar* value) {
  if constexpr (Type == infinirtPluginBool) return phi().PD_ScalarGetBoolData(value);
  if constexpr (Type == infinirtPluginFloat64) return std::bit_cast<uint64_t>(phi().PD_ScalarGetFloat64Data(value));
  if constexpr (Type == infinirtPluginFloat32 || Type == infinirtPluginFloat16 || Type == infinirtPluginBfloat16) {
    const auto single = static_cast<float>(phi().PD_ScalarGetFloat64Data(value));
    if constexpr (Type == infinirtPluginFloat16) return Float16::from(single).bits;
    if constexpr (Type == infinirtPluginBfloat16) return Bfloat16::from(single).bits;
    return std::bit_cast<uint32_t>(single);
  }
  return static_cast<uint64_t>(phi().PD_ScalarGetInt64Data(value));
}

// InferMeta has given `out` its shape; PaddlePaddle has chosen the kernel by the type that was asked for.
template <DataType Type>
void full(const DeviceContext* context, const void* /*shape*/, Scalar* value, int /*type*/, Tensor* out) {
  const uint64_t bits = element_from<Type>(value);
  int64_t count = 1;
  for (const int64_t dim : dims_of(out)) count *= dim;
  void* to = allocate(context, out, Type);
  if (count == 0) return;
  const size_t element = bytes_of(Type);
  enqueue_host_work(stream_of_context(context), {{to, static_cast<size_t>(count) * element, true}},
                    [=](const std::vector<char*>& at) {
                      with_element_of(element, [&]<class T>(T) {
                        T one{};
                        std::memcpy(&one, &bits, sizeof(one) < sizeof(bits) ? sizeof(one) : sizeof(bits));
                        auto* first = reinterpret_cast<T*>(at[0]);
                        for (int64_t i = 0; i < count; ++i) first[i] = one;
                      });
                    });
}

template <DataType Type>
void full_in(KernelContext* context) {
  full<Type>(phi().PD_KernelContextGetDeviceContext(context), nullptr, phi().PD_KernelContextScalarAttrAt(context, 1),
             0, phi().PD_KernelContextOutputAt(context, 0));
}

// ---- add: PaddlePaddle accumulates gradients with it ---------------------------------------------------------------------

template <class T>
T sum(T a, T b) {
  if constexpr (requires { T::from(0.0f); }) {
    return T::from(static_cast<float>(a) + static_cast<float>(b));
  } else if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // overflow wraps around
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

// The strides with which a tensor of shape `dims` is repeated to fill `out_dims`, its last dimensions under the last ones.
Sizes broadcast_strides(const Sizes& dims, const Sizes& out_dims) {
  const Sizes own = contiguous_strides(dims);
  Sizes strides(out_dims.size(), 0);
  const size_t missing = out_dims.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) strides[missing + i] = own[i];
  }
  return strides;
}

template <DataType Type, class T>
void add(const DeviceContext* context, const Tensor* x, const Tensor* y, Tensor* out) {
  if (type_of(x) != Type || type_of(y) != Type) {
    fail("infinirt: add: the tensors have different types; cast one (Tensor.astype) first");
  }
  const Sizes out_dims = dims_of(out);
  // Before `out` is allocated: it may be one of them.
  const void *x_data = data_of(x), *y_data = data_of(y);
  const Sizes x_dims = dims_of(x), y_dims = dims_of(y);
  Loop<3> loop(out_dims, {contiguous_strides(out_dims), broadcast_strides(x_dims, out_dims),
                          broadcast_strides(y_dims, out_dims)});
  void* to = allocate(context, out, Type);
  if (loop.empty()) return;
  std::vector<Operand> operands;
  const void* pointers[] = {to, x_data, y_data};
  for (size_t t = 0; t < 3; ++t) {
    operands.push_back({pointers[t], static_cast<size_t>(loop.extent(t)) * sizeof(T), t == 0});
  }
  enqueue_host_work(stream_of_context(context), operands, [loop = std::move(loop)](const std::vector<char*>& at) {
    auto* to = reinterpret_cast<T*>(at[0]);
    const auto *a = reinterpret_cast<const T*>(at[1]), *b = reinterpret_cast<const T*>(at[2]);
    loop.for_each_row([&](const auto& offsets, int64_t count, const auto& steps) {
      T* row = to + offsets[0];
      const T *row_a = a + offsets[1], *row_b = b + offsets[2];
      if (steps[1] == 1 && steps[2] == 1) {
        for (int64_t i = 0; i < count; ++i) row[i] = sum(row_a[i], row_b[i]);
      } else {
        for (int64_t i = 0; i < count; ++i) row[i] = sum(row_a[i * steps[1]], row_b[i * steps[2]]);
      }
    });
  });
}

template <DataType Type, class T>
void add_in(KernelContext* context) {
  add<Type, T>(phi().PD_KernelContextGetDeviceContext(context), phi().PD_KernelContextInputAt(context, 0),
               phi().PD_KernelContextInputAt(context, 1), phi().PD_KernelContextOutputAt(context, 0));
}

// ---- Registration ---------------------------------------------------------------------------------------------------------

void keep_arguments_as_they_are(const void*, void*) {}

class Registrar {
 public:
  explicit Registrar(const char* device_type) : device_type_(device_type) {}

  template <class Variadic>
  void operator()(const char* name, DataType type, std::vector<ArgumentType> inputs,
                  std::vector<ArgumentType> attributes, void (*function)(KernelContext*), Variadic* variadic) const {
    ArgumentType output = ArgumentType::Tensor;
    phi().PD_RegisterPhiKernel(name, device_type_, type, kAnyLayout, inputs.size(), inputs.data(), attributes.size(),
                               attributes.data(), 1, &output, keep_arguments_as_they_are, function,
                               reinterpret_cast<void*>(variadic));
  }

 private:
  const char* device_type_;
};

template <DataType Type, class T>
void register_for(const Registrar& registrar) {
  using enum ArgumentType;
  registrar("contiguous", Type, {Tensor}, {}, contiguous_in, contiguous);
  registrar("strided_copy", Type, {Tensor}, {ListInt64, ListInt64, Int64}, strided_copy_in, strided_copy_of);
  registrar("add", Type, {Tensor, Tensor}, {}, add_in<Type, T>, add<Type, T>);
  // The interface does not give the value of a complex scalar.
  if constexpr (Type != infinirtPluginComplex64 && Type != infinirtPluginComplex128) {
    registrar("full", Type, {}, {IntArray, Scalar, DataType}, full_in<Type>, full<Type>);
  }
}

}  // namespace

bool register_kernels(const char* device_type) {
  if (!find_phi()) return false;
  const Registrar registrar(device_type);
  // Not for unsigned integers of more than 8 bits: PaddlePaddle has no such tensors, and up to 3.2 `import paddle` fails
  // when a kernel for them is registered.
  register_for<infinirtPluginBool, bool>(registrar);
  register_for<infinirtPluginUint8, uint8_t>(registrar);
  register_for<infinirtPluginInt8, int8_t>(registrar);
  register_for<infinirtPluginInt16, int16_t>(registrar);
  register_for<infinirtPluginInt32, int32_t>(registrar);
  register_for<infinirtPluginInt64, int64_t>(registrar);
  register_for<infinirtPluginFloat16, Float16>(registrar);
  register_for<infinirtPluginBfloat16, Bfloat16>(registrar);
  register_for<infinirtPluginFloat32, float>(registrar);
  register_for<infinirtPluginFloat64, double>(registrar);
  register_for<infinirtPluginComplex64, std::complex<float>>(registrar);
  register_for<infinirtPluginComplex128, std::complex<double>>(registrar);
  return true;
}

}  // namespace infinirt::paddle
