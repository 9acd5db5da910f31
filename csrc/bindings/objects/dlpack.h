// DLPack, both directions: a Buffer is one dimension of bytes. Shared by the files that do it.
#pragma once

#include "bindings/objects/buffer.h"
#include "bindings/objects/dlpack_abi.h"

namespace infinirt::objects::dlpack {

inline bool operator==(Device a, Device b) { return a.type == b.type && a.id == b.id; }

/// What a buffer's memory is to others. Memory that the host reads in place is the CPU's, whichever device of ours it belongs
/// to; of an NVIDIA device it is page-locked or managed memory.
Device device_of(const BufferObject* buffer);

/// Whether the host may read memory of that device at once, without a stream.
inline bool is_host(Device device) { return device.type == kCpu || device.type == kCudaHost; }

/// Our device for another one's memory, borrowed; null with BufferError set when there is none.
DeviceObject* device_for(Device device);

/// How much memory a compact tensor takes; elements of less than a byte are packed unless the flags say otherwise. False with
/// BufferError set.
bool byte_size(const Tensor& tensor, uint64_t flags, size_t* bytes);

/// A description of the buffer's bytes for somebody else, who keeps the buffer alive until its deleter is called. Null with
/// an exception set.
ManagedVersioned* export_versioned(BufferObject* buffer, Device device, Version version, uint64_t flags);

/// A Buffer on somebody else's memory, which is let go of with it: `stream` (a Stream; null for memory of the host) is the
/// one that it is used on. Takes the tensor over if it succeeds; null with an exception set if not.
PyObject* adopt(ManagedVersioned* tensor, PyObject* stream);

/// The table that others find as `__dlpack_c_exchange_api__` on the class: a new capsule.
PyObject* make_exchange_capsule();

}  // namespace infinirt::objects::dlpack

namespace infinirt::objects {

/// from_exchange(source, stream): a Buffer, or None when the source's class offers no exchange by C functions.
PyObject* from_exchange(PyObject*, PyObject* const* args, Py_ssize_t count);
/// dlpack_stream(device_type, device_id, stream): what a producer is told about the stream that will use its memory.
PyObject* dlpack_stream(PyObject*, PyObject* args);
/// import_dlpack(capsule, stream): a Buffer on the memory of an unused capsule.
PyObject* import_dlpack(PyObject*, PyObject* args);
/// import_host_memory(object): a Buffer on the memory of an object with the buffer protocol.
PyObject* import_host_memory(PyObject*, PyObject* object);

}  // namespace infinirt::objects
