#include "op/encode.h"

#include <cstdint>
#include <cstring>

#include "op/narrow.h"

namespace infiniop {

namespace {

template <class T>
void put(T value, unsigned char* element) {
  std::memcpy(element, &value, sizeof value);
}

}  // namespace

void encode(double value, infiniDtype_t dtype, unsigned char* element) {
  const auto single = static_cast<float>(value);
  const auto whole = static_cast<int64_t>(value);
  switch (dtype) {
    case INFINI_DTYPE_BOOL:
      return put<uint8_t>(value != 0, element);
    case INFINI_DTYPE_F8:
      return put(to_float8(single), element);
    case INFINI_DTYPE_F16:
      return put(to_float16(single), element);
    case INFINI_DTYPE_BF16:
      return put(to_bfloat16(single), element);
    case INFINI_DTYPE_F32:
      return put(single, element);
    case INFINI_DTYPE_F64:
      return put(value, element);
    case INFINI_DTYPE_I8:
    case INFINI_DTYPE_U8:
    case INFINI_DTYPE_BYTE:
      return put(static_cast<uint8_t>(whole), element);
    case INFINI_DTYPE_I16:
    case INFINI_DTYPE_U16:
      return put(static_cast<uint16_t>(whole), element);
    case INFINI_DTYPE_I32:
    case INFINI_DTYPE_U32:
      return put(static_cast<uint32_t>(whole), element);
    case INFINI_DTYPE_I64:
    case INFINI_DTYPE_U64:
      return put(whole, element);
    case INFINI_DTYPE_C16:
      return encode(value, INFINI_DTYPE_F8, element), put(to_float8(0), element + 1);
    case INFINI_DTYPE_C32:
      return encode(value, INFINI_DTYPE_F16, element), put(to_float16(0), element + 2);
    case INFINI_DTYPE_C64:
      return put(single, element), put(0.0f, element + 4);
    case INFINI_DTYPE_C128:
      return put(value, element), put(0.0, element + 8);
    case INFINI_DTYPE_INVALID:
      return;
  }
}

}  // namespace infiniop
