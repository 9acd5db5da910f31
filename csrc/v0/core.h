// The functions of the new generation that the v0 library is made of.
//
// Both generations declare functions of the same names, so no translation unit can see both: this header speaks of
// handles as void* and of enums as int, core.cpp alone includes the new declarations, every other file the old ones.
#pragma once

#include <cstddef>

namespace infinirt::v0::core {

using Error = int;  // CUDA's number
inline constexpr Error kSuccess = 0;
inline constexpr Error kNotReady = 600;

// Never fails; valid until the thread's next failing call.
const char* last_error_message();

// Devices. Names of types live as long as the process.
Error set_device_type(const char* type);
Error get_device_type(const char** type);
bool find_device_type(const char* type, int* devices);  // false, and no device: there is no such type
Error set_device(int device);
Error get_device(int* device);
Error device_synchronize();
Error memory_info(size_t* free_bytes, size_t* total_bytes);
size_t default_pool_reserved_bytes(int device);  // 0 where there is no pool

// Streams
Error stream_create(void** stream);
Error stream_destroy(void* stream);
Error stream_synchronize(void* stream);
Error stream_settle(void* stream);  // a wait that the program did not ask for: captures elsewhere do not bar it
Error stream_wait_event(void* stream, void* event);
Error stream_begin_capture(void* stream, int mode);
Error stream_end_capture(void* stream, void** graph);
Error stream_is_capturing(void* stream, bool* capturing);

// Events
Error event_create(void** event, bool timing, bool blocking_sync);
Error event_record(void* event, void* stream);
Error event_query(void* event);
Error event_synchronize(void* event);
Error event_destroy(void* event);
Error event_elapsed_time(float* milliseconds, void* start, void* end);

// Memory. `kind` is infinirtMemcpyKind; kDirectionFromPointers lets the runtime see for itself.
inline constexpr int kDirectionFromPointers = 4;
enum class Memory { NotOurs, PinnedHost, Device };  // NotOurs: plain host memory, or freed
Error allocate(void** pointer, size_t size);
Error allocate_host(void** pointer, size_t size);
Error allocate_async(void** pointer, size_t size, void* stream);
Error release(void* pointer);
Error release_host(void* pointer);
Error release_async(void* pointer, void* stream);
Error memory_of(const void* pointer, Memory* memory);
Error copy(void* dst, const void* src, size_t size, int kind);
Error copy_async(void* dst, const void* src, size_t size, int kind, void* stream);
Error set(void* pointer, int value, size_t count);
Error set_async(void* pointer, int value, size_t count, void* stream);

// Graphs
Error graph_destroy(void* graph);
Error graph_instantiate(void** exec, void* graph, void** error_node);
Error graph_exec_destroy(void* exec);
Error graph_launch(void* exec, void* stream);

}  // namespace infinirt::v0::core
