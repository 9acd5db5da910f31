/* A plugin with one thing wrong with it, chosen by a macro. What is right is as little as the interface requires. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device_table.h"

static int current_id;

static C_Status set_device(const C_Device device) {
#ifndef LIES_ABOUT_DEVICES
  current_id = device->id;
#else
  (void)device;
#endif
  return C_SUCCESS;
}
static C_Status get_device(const C_Device device) {
  device->id = current_id;
  return C_SUCCESS;
}
static C_Status get_device_count(size_t* count) {
#if defined(COUNT_FAILS)
  (void)count;
  return C_INTERNAL_ERROR;
#elif defined(COUNT_NEGATIVE)
  *count = (size_t)-1;
#elif defined(COUNT_ZERO)
  *count = 0;
#else
  *count = 2;
#endif
  return C_SUCCESS;
}
static C_Status get_device_list(size_t* devices) {
#if defined(LIST_LONG)
  for (int i = 0; i < 5; ++i) devices[i] = (size_t)i;
#elif defined(LIST_SHORT)
  devices[0] = 0;
#elif defined(LIST_TWICE)
  devices[0] = devices[1] = 0;
#else
  devices[0] = 0;
  devices[1] = 1;
#endif
  return C_SUCCESS;
}
static C_Status allocate(const C_Device device, void** pointer, size_t size) {
  (void)device;
  *pointer = malloc(size);
  return *pointer ? C_SUCCESS : C_FAILED;
}
static C_Status deallocate(const C_Device device, void* pointer, size_t size) {
  (void)device, (void)size;
  free(pointer);
  return C_SUCCESS;
}
static C_Status copy(const C_Device device, void* dst, const void* src, size_t size) {
  (void)device;
#ifdef COPIES_FAIL
  (void)dst, (void)src, (void)size;
  return C_INTERNAL_ERROR;
#else
  memcpy(dst, src, size);
  return C_SUCCESS;
#endif
}
#ifdef PADDLE_HEADER /* what PaddlePaddle wants besides */
static C_Status synchronize_device(const C_Device device) {
  (void)device;
  return C_SUCCESS;
}
static C_Status create_event(const C_Device device, C_Event* event) {
  (void)device;
  *event = NULL;
  return C_SUCCESS;
}
static C_Status record_event(const C_Device device, C_Stream stream, C_Event event) {
  (void)device, (void)stream, (void)event;
  return C_SUCCESS;
}
static C_Status end_event(const C_Device device, C_Event event) {
  (void)device, (void)event;
  return C_SUCCESS;
}
static C_Status create_stream(const C_Device device, C_Stream* stream) {
  (void)device;
  *stream = NULL;
  return C_SUCCESS;
}
static C_Status end_stream(const C_Device device, C_Stream stream) {
  (void)device, (void)stream;
  return C_SUCCESS;
}
static C_Status stats(const C_Device device, size_t* total, size_t* available) {
  (void)device;
  *total = *available = (size_t)1 << 30;
  return C_SUCCESS;
}
static C_Status min_chunk(const C_Device device, size_t* size) {
  (void)device;
  *size = 256;
  return C_SUCCESS;
}
#endif

static C_Status initialize(void) {
#ifdef INITIALIZE_EXITS
  exit(0);
#endif
#ifdef INITIALIZE_HANGS
  for (;;) pause();
#endif
#ifdef INITIALIZE_FAILS
  return C_FAILED;
#else
  return C_SUCCESS;
#endif
}

#ifdef NO_ENTRY_POINT
EXPORTED void SomethingElse(CustomRuntimeParams* params) {
#else
EXPORTED void InitPlugin(CustomRuntimeParams* params) {
#endif
#if defined(ABORTS)
  fprintf(stderr, "no such chip on this machine\n");
  abort();
#elif defined(CRASHES)
  raise(SIGSEGV);
#elif defined(EXITS)
exit(3);
#elif defined(STRICT)
if (params->size != sizeof(CustomRuntimeParams) || params->interface->size != sizeof(C_DeviceInterface)) return;
#elif defined(REFUSES)
return;
#endif
  params->version.major = 0;
  params->version.minor = 1;
  params->version.patch = 1;
#ifdef OTHER_VERSION
  params->version.major = 9;
#endif
  params->device_type = (char*)"flawed";
#if defined(NO_NAME)
  params->device_type = NULL;
#elif defined(BAD_NAME)
  params->device_type = (char*)"my chip: 3";
#elif defined(TAKEN_NAME)
params->device_type = (char*)"cpu";
#endif
  C_DeviceInterface* table = params->interface;
#if defined(OWN_TABLE)
  static C_DeviceInterface own;
  params->interface = table = &own;
#elif defined(TRUNCATED)
  memset((void*)table, 0, 704);
#elif defined(TOO_LARGE)
memset((void*)table, 0, 1200);
#elif !defined(NOT_CLEARED) && !defined(NOT_CLEARED_BUT_COMMON)
memset((void*)table, 0, sizeof *table);
#endif
#ifdef NULLS
  return;
#endif
  table->initialize = initialize;
  table->set_device = set_device;
  table->get_device = get_device;
  table->get_device_count = get_device_count;
  table->get_device_list = get_device_list;
  table->device_memory_allocate = allocate;
  table->device_memory_deallocate = deallocate;
  table->memory_copy_h2d = copy;
#ifndef NO_D2H
  table->memory_copy_d2h = copy;
#endif
#ifdef PADDLE_HEADER
  table->synchronize_device = synchronize_device;
  table->create_event = create_event;
  table->record_event = record_event;
  table->destroy_event = table->synchronize_event = end_event;
  table->create_stream = create_stream;
  table->destroy_stream = table->synchronize_stream = end_stream;
  table->memory_copy_d2d = copy;
  table->device_memory_stats = stats;
  table->device_min_chunk_size = min_chunk;
#endif
#ifdef NOT_CLEARED
  table->blas_axpby = NULL;
#endif
}
