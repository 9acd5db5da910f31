/* A toy accelerator: devices in host memory, at addresses where the host finds nothing. It knows PaddlePaddle's interface
 * only. It aborts when it is called wrongly: by two threads at a time, with another device current, with memory that is not
 * the device's. Copies within a device and sets take effect when the device is synchronised.
 *
 * Built with TOY_NAME (device type), TOY_DEVICES, LAYOUT, TOY_MINIMAL (required entries only), TOY_LOW (every device's
 * addresses begin at 0), TOY_THREAD_SAFE (any number of threads may call), TOY_COUNTS_TWICE (a fault, for the conformance kit's
 * tests: used memory is counted twice), TOY_COLLECTIVES (it has collectives: see toy_collectives.h). The environment: TOY_LOG, a file to which it writes what was started and ended. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device_table.h"

#ifndef TOY_NAME
#define TOY_NAME "toy"
#endif
#ifndef TOY_DEVICES
#define TOY_DEVICES 2
#endif

enum { FIRST_ID = 4, PHYSICAL = 100, CHUNK = 512, PADDING = 64, MOST_PENDING = 16 };
static const size_t MEMORY = (size_t)16 << 30;
#ifndef TOY_LOW
static const size_t SHIFT = (size_t)1 << 44;
#endif

struct block {
  size_t offset, size;
  struct block* next;
};

struct pending {
  char *dst, *src; /* src is null for a set */
  size_t size;
  unsigned char value;
};

static struct unit {
  char* memory;
  struct block* blocks; /* by offset */
  size_t used;
  struct pending pending[MOST_PENDING];
  int pending_count;
  int started;
} units[TOY_DEVICES];

static atomic_int inside;
static int process_device = -1;
static _Thread_local int thread_device = -1;

static void complain(const char* what) {
  fprintf(stderr, "toy accelerator: %s\n", what);
  abort();
}

#ifdef TOY_THREAD_SAFE
static void enter(void) {
  while (atomic_exchange(&inside, 1) != 0) sched_yield();
}
#else
static void enter(void) {
  if (atomic_exchange(&inside, 1) != 0) complain("called by two threads at a time");
}
#endif
static C_Status leave(C_Status status) {
  atomic_store(&inside, 0);
  return status;
}

static void note(const char* what, int device) {
  const char* path = getenv("TOY_LOG");
  if (!path) return;
  char line[64];
  const int length =
      device < 0 ? snprintf(line, sizeof line, "%s\n", what) : snprintf(line, sizeof line, "%s %d\n", what, device);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0 || write(file, line, (size_t)length) != length) complain("cannot write TOY_LOG");
  close(file);
}

static struct unit* unit_of(const C_Device device) {
  const int index = device->id - FIRST_ID - PHYSICAL;
  if (index < 0 || index >= TOY_DEVICES || !units[index].started) complain("no such device, or not started");
  return &units[index];
}

/* The device, which must be current. */
static struct unit* current(const C_Device device) {
  struct unit* unit = unit_of(device);
  if (thread_device != device->id) complain("another device is current on the thread");
#ifndef TOY_THREAD_SAFE
  if (process_device != device->id) complain("another device is current in the process");
#endif
  return unit;
}

static size_t offset_of(const struct unit* unit, const void* address) {
#ifdef TOY_LOW
  (void)unit;
  return (size_t)address;
#else
  return (size_t)address + SHIFT - (size_t)unit->memory;
#endif
}
static void* address_of(const struct unit* unit, size_t offset) {
#ifdef TOY_LOW
  (void)unit;
  return (void*)offset;
#else
  return (void*)((size_t)unit->memory + offset - SHIFT);
#endif
}

static char* reach(struct unit* unit, const void* address, size_t size) {
  const size_t offset = offset_of(unit, address);
  for (const struct block* block = unit->blocks; block; block = block->next) {
    if (offset >= block->offset && offset - block->offset <= block->size &&
        size <= block->size - (offset - block->offset))
      return unit->memory + offset;
  }
  complain("memory that is not the device's");
  return NULL;
}

static C_Status initialize(void) {
  enter();
  note("initialize", -1);
  for (int i = 0; i < TOY_DEVICES; ++i) {
    units[i].memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (units[i].memory == MAP_FAILED) return leave(C_FAILED);
  }
  return leave(C_SUCCESS);
}
static C_Status finalize(void) {
  enter();
  note("finalize", -1);
  return leave(C_SUCCESS);
}

static C_Status init_device(const C_Device device) {
  enter();
  const int index = device->id - FIRST_ID;
  if (index < 0 || index >= TOY_DEVICES) return leave(C_ERROR);
  note("init_device", device->id);
  units[index].started = 1;
  device->id += PHYSICAL;
  return leave(C_SUCCESS);
}
static C_Status deinit_device(const C_Device device) {
  enter();
  unit_of(device)->started = 0;
  note("deinit_device", device->id);
  return leave(C_SUCCESS);
}
static C_Status set_device(const C_Device device) {
  enter();
  unit_of(device);
  process_device = thread_device = device->id;
  return leave(C_SUCCESS);
}
static C_Status get_device(const C_Device device) {
  device->id = thread_device;
  return C_SUCCESS;
}

static C_Status get_device_count(size_t* count) {
  *count = TOY_DEVICES;
  return C_SUCCESS;
}
static C_Status get_device_list(size_t* devices) {
  for (int i = 0; i < TOY_DEVICES; ++i) devices[i] = (size_t)(FIRST_ID + i);
  return C_SUCCESS;
}

static C_Status allocate(const C_Device device, void** pointer, size_t size) {
  enter();
  struct unit* unit = current(device);
#ifndef TOY_MINIMAL
  if (size < PADDING || (size - PADDING) % CHUNK != 0) complain("a size that is not rounded and padded as asked for");
#endif
  const size_t taken = (size + 255) / 256 * 256;
  size_t offset = 0;
  struct block** place = &unit->blocks;
  while (*place && (*place)->offset - offset < taken) {
    offset = (*place)->offset + ((*place)->size + 255) / 256 * 256;
    place = &(*place)->next;
  }
  if (taken > MEMORY || offset > MEMORY - taken) return leave(C_FAILED);
  struct block* block = malloc(sizeof *block);
  *block = (struct block){offset, size, *place};
  *place = block;
  unit->used += size;
  *pointer = address_of(unit, offset);
  return leave(C_SUCCESS);
}
static C_Status deallocate(const C_Device device, void* pointer, size_t size) {
  enter();
  struct unit* unit = current(device);
  const size_t offset = offset_of(unit, pointer);
  struct block** place = &unit->blocks;
  while (*place && (*place)->offset != offset) place = &(*place)->next;
  if (!*place || (*place)->size != size) complain("deallocates what was not allocated");
  struct block* gone = *place;
  *place = gone->next;
  free(gone);
  unit->used -= size;
  if (size >= (size_t)1 << 20) madvise(unit->memory + offset, size / 4096 * 4096, MADV_DONTNEED);
  return leave(C_SUCCESS);
}

static C_Status copy_h2d(const C_Device device, void* dst, const void* src, size_t size) {
  enter();
  memcpy(reach(current(device), dst, size), src, size);
  return leave(C_SUCCESS);
}
static C_Status copy_d2h(const C_Device device, void* dst, const void* src, size_t size) {
  enter();
  memcpy(dst, reach(current(device), src, size), size);
  return leave(C_SUCCESS);
}

#ifndef TOY_MINIMAL
static void defer(struct unit* unit, struct pending work) {
  if (unit->pending_count == MOST_PENDING) complain("too much is pending; nobody synchronises");
  unit->pending[unit->pending_count++] = work;
}
static C_Status copy_d2d(const C_Device device, void* dst, const void* src, size_t size) {
  enter();
  struct unit* unit = current(device);
  defer(unit, (struct pending){reach(unit, dst, size), reach(unit, src, size), size, 0});
  return leave(C_SUCCESS);
}
static C_Status set(const C_Device device, void* dst, unsigned char value, size_t size) {
  enter();
  struct unit* unit = current(device);
  defer(unit, (struct pending){reach(unit, dst, size), NULL, size, value});
  return leave(C_WARNING);
}
static C_Status copy_p2p(const C_Device dst_device, const C_Device src_device, void* dst, const void* src,
                         size_t size) {
  enter();
  struct unit* to = current(dst_device);
  defer(to, (struct pending){reach(to, dst, size), reach(unit_of(src_device), src, size), size, 0});
  return leave(C_SUCCESS);
}
static C_Status synchronize(const C_Device device) {
  enter();
  struct unit* unit = current(device);
  for (int i = 0; i < unit->pending_count; ++i) {
    const struct pending* work = &unit->pending[i];
    work->src ? memmove(work->dst, work->src, work->size) : memset(work->dst, work->value, work->size);
  }
  unit->pending_count = 0;
  return leave(C_SUCCESS);
}

/* Streams: work is done when somebody waits, or asks for the third time. */
struct C_Stream_st {
  int device, asked, count;
  int collectives; /* that wait for other ranks */
  struct pending work[MOST_PENDING];
};
static C_Status create_stream(const C_Device device, C_Stream* stream) {
  enter();
  current(device);
  *stream = calloc(1, sizeof **stream);
  (*stream)->device = device->id;
  note("create_stream", device->id);
  return leave(C_SUCCESS);
}
static C_Stream on(const C_Device device, C_Stream stream) {
  current(device);
  if (stream->device != device->id) complain("a stream of another device");
  return stream;
}
static void finish(C_Stream stream) {
  for (int i = 0; i < stream->count; ++i) memmove(stream->work[i].dst, stream->work[i].src, stream->work[i].size);
  stream->count = stream->asked = 0;
}
static C_Status destroy_stream(const C_Device device, C_Stream stream) {
  enter();
  if (on(device, stream)->count) complain("destroys a stream that has work");
  free(stream);
  note("destroy_stream", device->id);
  return leave(C_SUCCESS);
}
static C_Status query_stream(const C_Device device, C_Stream stream) {
  enter();
  if (on(device, stream)->collectives) return leave(C_FAILED);
  if (stream->count && ++stream->asked < 3) return leave(C_FAILED);
  finish(stream);
  return leave(C_SUCCESS);
}
static C_Status synchronize_stream(const C_Device device, C_Stream stream) {
  enter();
  if (on(device, stream)->collectives) complain("waits for a stream whose collectives wait for others");
  finish(stream);
  return leave(C_SUCCESS);
}
static C_Status enqueue(C_Stream stream, void* dst, const void* src, size_t size) {
  if (stream->count == MOST_PENDING) complain("too much is pending on a stream");
  stream->work[stream->count++] = (struct pending){dst, (char*)src, size, 0};
  note("async copy", -1);
  return leave(C_SUCCESS);
}
static C_Status async_h2d(const C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  enter();
  return enqueue(on(device, stream), reach(unit_of(device), dst, size), src, size);
}
static C_Status async_d2h(const C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  enter();
  return enqueue(on(device, stream), dst, reach(unit_of(device), src, size), size);
}
static C_Status async_d2d(const C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  enter();
  return enqueue(on(device, stream), reach(unit_of(device), dst, size), reach(unit_of(device), src, size), size);
}

/* No better aligned than necessary. */
static C_Status host_allocate(const C_Device device, void** pointer, size_t size) {
  enter();
  current(device);
  char* memory = malloc(size + 8);
  *pointer = memory ? memory + 8 : NULL;
  return leave(memory ? C_SUCCESS : C_FAILED);
}
static C_Status host_deallocate(const C_Device device, void* pointer, size_t size) {
  enter();
  current(device);
  (void)size;
  free((char*)pointer - 8);
  return leave(C_SUCCESS);
}

static C_Status stats(const C_Device device, size_t* total, size_t* free_bytes) {
  enter();
  *total = MEMORY;
#ifdef TOY_COUNTS_TWICE
  *free_bytes = MEMORY - 2 * current(device)->used;
#else
  *free_bytes = MEMORY - current(device)->used;
#endif
  return leave(C_SUCCESS);
}

#define SIZE_ENTRY(NAME, VALUE)                               \
  static C_Status NAME(const C_Device device, size_t* size) { \
    (void)device;                                             \
    *size = (VALUE);                                          \
    return C_SUCCESS;                                         \
  }
SIZE_ENTRY(min_chunk, CHUNK)
SIZE_ENTRY(padding, PADDING)
SIZE_ENTRY(max_alloc, (size_t)12 << 30)
#if LAYOUT >= 31
SIZE_ENTRY(capability, 75)
SIZE_ENTRY(runtime_version, 42)
SIZE_ENTRY(driver_version, 43)
SIZE_ENTRY(multiprocessors, 3)
#else
static C_Status capability(size_t* value) { return *value = 75, C_SUCCESS; }
static C_Status runtime_version(size_t* value) { return *value = 42, C_SUCCESS; }
static C_Status driver_version(size_t* value) { return *value = 43, C_SUCCESS; }
#endif
#endif

#ifdef TOY_COLLECTIVES
#include "toy_collectives.h"
#endif

EXPORTED void InitPlugin(CustomRuntimeParams* params) {
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  params->device_type = (char*)TOY_NAME;
  params->sub_device_type = (char*)"made of memory";
  C_DeviceInterface* table = params->interface;
  memset((void*)table, 0, sizeof *table);
  table->initialize = initialize;
  table->finalize = finalize;
  table->init_device = init_device;
  table->deinit_device = deinit_device;
  table->set_device = set_device;
  table->get_device = get_device;
  table->get_device_count = get_device_count;
  table->get_device_list = get_device_list;
  table->device_memory_allocate = allocate;
  table->device_memory_deallocate = deallocate;
  table->memory_copy_h2d = copy_h2d;
  table->memory_copy_d2h = copy_d2h;
#ifndef TOY_MINIMAL
  table->memory_copy_d2d = copy_d2d;
  table->memory_copy_p2p = copy_p2p;
  table->device_memory_set = set;
  table->synchronize_device = synchronize;
  table->create_stream = create_stream;
  table->destroy_stream = destroy_stream;
  table->query_stream = query_stream;
  table->synchronize_stream = synchronize_stream;
  table->async_memory_copy_h2d = async_h2d;
  table->async_memory_copy_d2h = async_d2h;
  table->async_memory_copy_d2d = async_d2d;
#ifdef TOY_COLLECTIVES
  fill_in_collectives(table);
#endif
  table->host_memory_allocate = host_allocate;
  table->host_memory_deallocate = host_deallocate;
  table->unified_memory_allocate = host_allocate;
  table->unified_memory_deallocate = host_deallocate;
  table->device_memory_stats = stats;
  table->device_min_chunk_size = min_chunk;
  table->device_extra_padding_size = padding;
  table->device_max_alloc_size = max_alloc;
  table->get_compute_capability = capability;
  table->get_runtime_version = runtime_version;
  table->get_driver_version = driver_version;
#if LAYOUT >= 31
  table->get_multi_process = multiprocessors;
#endif
#endif
}
