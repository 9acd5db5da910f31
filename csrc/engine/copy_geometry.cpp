#include "engine/copy_geometry.h"

#include "core/error.h"

namespace infinirt {

namespace {

struct Located {
  void* start;
  size_t offset;  // of the start behind the pointer
  size_t slice;
};

// From array-or-pointer and position to an address.
infinirtError_t locate(const CopySide& side, const struct infinirtExtent& extent, const char* name, Located* found) {
  const auto& [array, pos, pointer] = side;
  if (array && pointer.ptr) {
    return fail(infinirtErrorInvalidValue, "%sArray and %sPtr are both set; set exactly one of them", name, name);
  }
  if (array) {
    return fail(infinirtErrorNotSupported, "%sArray is set, but this runtime has no arrays; use %sPtr", name, name);
  }
  if (!pointer.ptr) return fail(infinirtErrorInvalidValue, "neither %sPtr.ptr nor %sArray is set", name, name);
  size_t right, bottom, offset, rows, start;
  if (__builtin_add_overflow(pos.x, extent.width, &right) || __builtin_add_overflow(pos.y, extent.height, &bottom) ||
      __builtin_mul_overflow(pointer.pitch, pointer.ysize, &found->slice) ||
      __builtin_mul_overflow(found->slice, pos.z, &offset) || __builtin_mul_overflow(pointer.pitch, pos.y, &rows) ||
      __builtin_add_overflow(offset, rows, &offset) || __builtin_add_overflow(offset, pos.x, &offset) ||
      __builtin_add_overflow(reinterpret_cast<uintptr_t>(pointer.ptr), offset, &start)) {
    return fail(infinirtErrorInvalidValue, "%sPos (%zu, %zu, %zu) with a pitch of %zu is beyond the address space",
                name, pos.x, pos.y, pos.z, pointer.pitch);
  }
  // Codes as measured on a real device. A pitch or ysize of 0 is none at all, which does where it is not needed.
  const bool pitch_used = extent.height > 1 || extent.depth > 1, rows_used = extent.depth > 1;
  if (right > pointer.pitch && (pitch_used || pointer.pitch > 0)) {
    return fail(pitch_used && extent.width > pointer.pitch ? infinirtErrorInvalidPitchValue : infinirtErrorInvalidValue,
                "%sPtr.pitch %zu is smaller than %sPos.x + extent.width = %zu", name, pointer.pitch, name, right);
  }
  if (bottom > pointer.ysize && (rows_used || pointer.ysize > 0)) {
    return fail(rows_used && extent.height > pointer.ysize ? infinirtErrorInvalidPitchValue : infinirtErrorInvalidValue,
                "%sPtr.ysize %zu is smaller than %sPos.y + extent.height = %zu", name, pointer.ysize, name, bottom);
  }
  found->start = reinterpret_cast<void*>(start);
  found->offset = offset;
  return infinirtSuccess;
}

}  // namespace

infinirtError_t request_between(const CopySide& dst, const CopySide& src, const struct infinirtExtent& extent, int kind,
                                CopyRequest* request) {
  Located to{}, from{};
  if (auto error = locate(dst, extent, "dst", &to)) return error;
  if (auto error = locate(src, extent, "src", &from)) return error;
  *request = CopyRequest{};
  request->kind = kind;
  request->dst_offset = to.offset;
  request->src_offset = from.offset;
  CopyWork& work = request->work;
  work = {};
  work.dst = to.start;
  work.src = from.start;
  work.dst_pitch = dst.pointer.pitch;
  work.src_pitch = src.pointer.pitch;
  work.dst_slice = to.slice;
  work.src_slice = from.slice;
  work.width = extent.width;
  work.height = extent.height;
  work.depth = extent.depth;
  return infinirtSuccess;
}

}  // namespace infinirt
