/* An accelerator in host memory behind the vendors' loop-back libraries. It is asynchronous: every stream is a thread with a queue,
 * and takes its time. It is strict: what a real library may answer with garbage or a crash (a wrong direction, memory of
 * another device, a stream that is none) it aborts on, so that a wrong number in a vendor's table cannot pass.
 *
 * Built with CHIP_DEVICES, CHIP_LOW (every device's addresses begin near 0, as if they were physical ones). */
#ifndef CHIP_H
#define CHIP_H
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef CHIP_DEVICES
#define CHIP_DEVICES 2
#endif
#define EXPORT __attribute__((visibility("default")))

enum chip_status { CHIP_OK, CHIP_NO_MEMORY };
enum chip_direction { CHIP_TO_DEVICE, CHIP_TO_HOST, CHIP_INSIDE };

static const size_t CHIP_MEMORY = (size_t)16 << 30;
enum { CHIP_UNIT = 256, CHIP_MOST_STREAMS = 256 };
#ifdef CHIP_LOW
static const size_t CHIP_FIRST = 4096;
#else
static const size_t CHIP_SHIFT = (size_t)1 << 44; /* device addresses lie where the host has nothing */
#endif

struct chip_block {
  size_t offset, size;
  struct chip_block* next;
};

struct chip_work {
  char *dst, *src; /* host addresses of both; src is null for a fill, and for an increment */
  size_t size;
  int value; /* -1: increment every byte, slowly */
  struct chip_work* next;
};

struct chip_stream {
  int device;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct chip_work *first, **last;
  int busy;
};

static struct {
  char* memory;
  struct chip_block* blocks; /* by offset */
  size_t used;
} chip_units[CHIP_DEVICES > 0 ? CHIP_DEVICES : 1];
static struct chip_stream* chip_streams[CHIP_MOST_STREAMS];
static int chip_stream_count;
static pthread_mutex_t chip_mutex = PTHREAD_MUTEX_INITIALIZER; /* of everything above */
static _Thread_local int chip_device = 0; /* as in CUDA: 0 until somebody says otherwise */

static inline void chip_complain(const char* what) {
  fprintf(stderr, "loop-back library: %s\n", what);
  abort();
}

static inline void chip_lock(void) { pthread_mutex_lock(&chip_mutex); }
static inline void chip_unlock(void) { pthread_mutex_unlock(&chip_mutex); }

static inline int chip_has(int device) { return device >= 0 && device < CHIP_DEVICES; }

static inline void chip_set(int device) {
  if (!chip_has(device)) chip_complain("no such device");
  chip_device = device;
}

static inline size_t chip_offset(int device, const void* address) {
#ifdef CHIP_LOW
  (void)device;
  return (size_t)address - CHIP_FIRST;
#else
  return (size_t)address + CHIP_SHIFT - (size_t)chip_units[device].memory;
#endif
}

static inline int chip_malloc(void** pointer, size_t size) {
  chip_lock();
  char** memory = &chip_units[chip_device].memory;
  if (!*memory) {
    *memory = mmap(NULL, CHIP_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*memory == MAP_FAILED) chip_complain("no address space");
  }
  const size_t taken = (size + CHIP_UNIT - 1) / CHIP_UNIT * CHIP_UNIT;
  size_t offset = 0;
  struct chip_block** place = &chip_units[chip_device].blocks;
  while (*place && (*place)->offset - offset < taken) {
    offset = (*place)->offset + ((*place)->size + CHIP_UNIT - 1) / CHIP_UNIT * CHIP_UNIT;
    place = &(*place)->next;
  }
  if (taken > CHIP_MEMORY || offset > CHIP_MEMORY - taken) return chip_unlock(), CHIP_NO_MEMORY;
  struct chip_block* block = malloc(sizeof *block);
  *block = (struct chip_block){offset, size, *place};
  *place = block;
  chip_units[chip_device].used += size;
#ifdef CHIP_LOW
  *pointer = (void*)(offset + CHIP_FIRST);
#else
  *pointer = (void*)((size_t)*memory + offset - CHIP_SHIFT);
#endif
  return chip_unlock(), CHIP_OK;
}

static inline void chip_free(void* pointer) {
  chip_lock();
  const size_t offset = chip_offset(chip_device, pointer);
  struct chip_block** place = &chip_units[chip_device].blocks;
  while (*place && (*place)->offset != offset) place = &(*place)->next;
  struct chip_block* block = *place;
  if (!block) chip_complain("a free of what is not allocated on the current device");
  *place = block->next;
  chip_units[chip_device].used -= block->size;
  memset(chip_units[chip_device].memory + offset, 0xDD, block->size < 4096 ? block->size : 4096);
  free(block);
  chip_unlock();
}

/* Where the host finds memory of a device. */
static inline char* chip_reach(int device, const void* address, size_t size) {
  chip_lock();
  const size_t offset = chip_offset(device, address);
  for (const struct chip_block* block = chip_units[device].blocks; block; block = block->next) {
    if (offset >= block->offset && offset - block->offset <= block->size &&
        size <= block->size - (offset - block->offset))
      return chip_unlock(), chip_units[device].memory + offset;
  }
  chip_complain("memory that is not the device's");
  return NULL;
}

static inline char* chip_host(const void* address, size_t size) {
#ifndef CHIP_LOW
  for (int device = 0; device < CHIP_DEVICES; ++device) {
    if (chip_units[device].memory && chip_offset(device, address) < CHIP_MEMORY)
      chip_complain("device memory where the host's was announced");
  }
#endif
  volatile const char* byte = address; /* faults here, and not in a thread, if it is nobody's */
  (void)byte[0];
  (void)byte[size - 1];
  return (char*)address;
}

static inline void chip_run(const struct chip_work* work) {
  if (work->src) {
    memmove(work->dst, work->src, work->size);
  } else if (work->value >= 0) {
    memset(work->dst, work->value, work->size);
  } else {
    usleep(30000);
    for (size_t i = 0; i < work->size; ++i) ++work->dst[i];
  }
}

static inline void* chip_thread(void* data) {
  struct chip_stream* stream = data;
  pthread_mutex_lock(&stream->mutex);
  for (;;) {
    while (!stream->first) pthread_cond_wait(&stream->changed, &stream->mutex);
    struct chip_work* work = stream->first;
    stream->first = work->next;
    if (!stream->first) stream->last = &stream->first;
    stream->busy = 1;
    pthread_mutex_unlock(&stream->mutex);
    sched_yield();
    chip_run(work);
    free(work);
    pthread_mutex_lock(&stream->mutex);
    stream->busy = 0;
    pthread_cond_broadcast(&stream->changed);
  }
  return NULL;
}

static inline struct chip_stream* chip_stream_create(void) {
  struct chip_stream* stream = calloc(1, sizeof *stream);
  stream->device = chip_device;
  pthread_mutex_init(&stream->mutex, NULL);
  pthread_cond_init(&stream->changed, NULL);
  stream->last = &stream->first;
  chip_lock();
  if (chip_stream_count == CHIP_MOST_STREAMS) chip_complain("more streams than anybody needs: they leak");
  chip_streams[chip_stream_count++] = stream;
  chip_unlock();
  pthread_t thread;
  pthread_create(&thread, NULL, chip_thread, stream);
  pthread_detach(thread);
  return stream;
}

static inline struct chip_stream* chip_stream_of(void* handle) {
  chip_lock();
  for (int i = 0; i < chip_stream_count; ++i) {
    if (chip_streams[i] == handle) return chip_unlock(), handle;
  }
  chip_complain("a stream that is none");
  return NULL;
}

static inline void chip_enqueue(void* handle, struct chip_work wanted) {
  struct chip_stream* stream = chip_stream_of(handle);
  if (stream->device != chip_device) chip_complain("a stream of a device that is not current");
  struct chip_work* work = malloc(sizeof *work);
  *work = wanted;
  work->next = NULL;
  pthread_mutex_lock(&stream->mutex);
  *stream->last = work;
  stream->last = &work->next;
  pthread_cond_broadcast(&stream->changed);
  pthread_mutex_unlock(&stream->mutex);
}

static inline void chip_wait(void* handle) {
  struct chip_stream* stream = chip_stream_of(handle);
  pthread_mutex_lock(&stream->mutex);
  while (stream->first || stream->busy) pthread_cond_wait(&stream->changed, &stream->mutex);
  pthread_mutex_unlock(&stream->mutex);
}

static inline void chip_wait_all(void) {
  for (int i = 0; i < chip_stream_count; ++i) {
    if (chip_streams[i]->device == chip_device) chip_wait(chip_streams[i]);
  }
}

static inline struct chip_work chip_copy_work(void* dst, const void* src, size_t size, enum chip_direction direction) {
  struct chip_work work = {NULL, NULL, size, 0, NULL};
  work.dst = direction == CHIP_TO_HOST ? chip_host(dst, size) : chip_reach(chip_device, dst, size);
  work.src = direction == CHIP_TO_DEVICE ? chip_host(src, size) : chip_reach(chip_device, src, size);
  return work;
}

static inline struct chip_work chip_fill_work(void* dst, int value, size_t size) {
  return (struct chip_work){chip_reach(chip_device, dst, size), NULL, size, (unsigned char)value, NULL};
}

static inline struct chip_work chip_peer_work(int to, void* dst, int from, const void* src, size_t size) {
  if (!chip_has(to) || !chip_has(from)) chip_complain("no such device");
  return (struct chip_work){chip_reach(to, dst, size), chip_reach(from, src, size), size, 0, NULL};
}

/* Page-locked memory: begins where nothing is aligned, and must be given back as it was given out. */
static inline void* chip_host_malloc(size_t size) {
  char* memory = malloc(size + 128);
  memcpy(memory + 64, "page-locked memory", 18);
  return memory + 64 + 32;
}

static inline void chip_host_free(void* pointer) {
  char* memory = (char*)pointer - 64 - 32;
  if (memcmp(memory + 64, "page-locked memory", 18) != 0) chip_complain("host memory that was not allocated here");
  memory[64] = 0;
  free(memory);
}

/* For tests: work of somebody else's on a native stream, slow enough to be overtaken; and how many streams there have been. */
EXPORT void loopback_increment(void* stream, void* pointer, size_t size);
EXPORT void loopback_increment(void* stream, void* pointer, size_t size) {
  chip_enqueue(stream, (struct chip_work){chip_reach(chip_device, pointer, size), NULL, size, -1, NULL});
}
EXPORT int loopback_streams(void);
EXPORT int loopback_streams(void) { return chip_stream_count; }

#endif
