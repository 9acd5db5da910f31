// From CUDA's description of a 3D copy to rows and slices at addresses: the same for calls and for nodes of graphs.
#pragma once

#include "engine/memory.h"

namespace infinirt {

struct CopySide {
  infinirtArray_t array;
  struct infinirtPos pos;
  struct infinirtPitchedPtr pointer;
};

// Checks that the region fits its pitches and the address space; whose memory it is, is check_copy's matter. No extent is 0.
infinirtError_t request_between(const CopySide& dst, const CopySide& src, const struct infinirtExtent& extent, int kind,
                                CopyRequest* request);

// Of infinirtMemcpy3DParms and infinirtMemcpy3DPeerParms: the fields they share.
template <class Parms>
infinirtError_t request_3d(const Parms& p, int kind, CopyRequest* request) {
  return request_between({p.dstArray, p.dstPos, p.dstPtr}, {p.srcArray, p.srcPos, p.srcPtr}, p.extent, kind, request);
}

}  // namespace infinirt
