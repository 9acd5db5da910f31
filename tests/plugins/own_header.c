/* The smallest plugin there can be, written with infinirt_plugin.h. Its allocator says how large it wants things. */
#include <infinirt_plugin.h>
#include <stdio.h>
#include <stdlib.h>

static int current_id;

static enum infinirtPluginStatus set_device(infinirtPluginDevice_t device) {
  current_id = device->id;
  return infinirtPluginSuccess;
}
static enum infinirtPluginStatus get_device(infinirtPluginDevice_t device) {
  device->id = current_id;
  return infinirtPluginSuccess;
}
static enum infinirtPluginStatus count(size_t* devices) {
  *devices = 1;
  return infinirtPluginSuccess;
}
static enum infinirtPluginStatus list(size_t* devices) {
  devices[0] = 0;
  return infinirtPluginSuccess;
}
static enum infinirtPluginStatus allocate(infinirtPluginDevice_t device, void** pointer, size_t size) {
  (void)device;
  fprintf(stderr, "allocate %zu\n", size);
  *pointer = malloc(size);
  return *pointer ? infinirtPluginSuccess : infinirtPluginFailed;
}
static enum infinirtPluginStatus deallocate(infinirtPluginDevice_t device, void* pointer, size_t size) {
  (void)device, (void)size;
  free(pointer);
  return infinirtPluginSuccess;
}
static enum infinirtPluginStatus copy(infinirtPluginDevice_t device, void* dst, const void* src, size_t size) {
  (void)device;
  memcpy(dst, src, size);
  return infinirtPluginSuccess;
}

#define WISH(NAME, BYTES)                                                               \
  static enum infinirtPluginStatus NAME(infinirtPluginDevice_t device, size_t* bytes) { \
    (void)device;                                                                       \
    *bytes = (size_t)(BYTES);                                                           \
    return infinirtPluginSuccess;                                                       \
  }
WISH(min_chunk, 1000)
WISH(padding, 7)
WISH(max_alloc, 64 << 20)
WISH(max_chunk, 32 << 20)
WISH(first, 16 << 20)
WISH(next, 8 << 20)

void InitPlugin(infinirtPluginParams* params) {
  INFINIRT_PLUGIN_START(params, "own", "smallest");
  infinirtPluginInterface* table = params->interface;
  table->set_device = set_device;
  table->get_device = get_device;
  table->get_device_count = count;
  table->get_device_list = list;
  table->device_memory_allocate = allocate;
  table->device_memory_deallocate = deallocate;
  table->memory_copy_h2d = copy;
  table->memory_copy_d2h = copy;
  table->memory_copy_d2d = copy;
  table->device_min_chunk_size = min_chunk;
  table->device_extra_padding_size = padding;
  table->device_max_alloc_size = max_alloc;
  table->device_max_chunk_size = max_chunk;
  table->device_init_alloc_size = first;
  table->device_realloc_size = next;
}
