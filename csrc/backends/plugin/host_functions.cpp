// What libraries on top get of a plugin: its table, calls in its order, and the addresses that it knows.
#include "backends/plugin/plugin_engine.h"
#include "engine/memory.h"
#include "engine/stream.h"
#include "infinirt_plugin_host.h"

namespace infinirt::plugin {

namespace {

infinirtError_t find_plugin(const char* type, PluginEngine** engine) {
  if (!type) return fail(infinirtErrorInvalidValue, "type is null");
  const Backend* backend = find_backend(type);
  if (!backend) return fail(infinirtErrorInvalidDevice, "there is no device type '%s'", type);
  *engine = backend->engine ? dynamic_cast<PluginEngine*>(static_cast<Engine*>(backend->engine)) : nullptr;
  if (!*engine) return fail(infinirtErrorNotSupported, "device type '%s' is no plugin", type);
  if ((*engine)->load()) return infinirtSuccess;
  return fail(infinirtErrorNotSupported, "the plugin of device type '%s' cannot be used: %s", type,
              backend->problem.c_str());
}

infinirtError_t get_table(const char* type, const infinirtPluginInterface** table) {
  if (auto error = barred()) return error;
  if (!table) return fail(infinirtErrorInvalidValue, "table is null");
  PluginEngine* engine = nullptr;
  if (auto error = find_plugin(type, &engine)) return error;
  *table = &engine->table();
  return infinirtSuccess;
}

infinirtError_t call(const char* type, int device, bool alone, void (*fn)(infinirtPluginDevice_t, void*), void* data) {
  if (!fn) return fail(infinirtErrorInvalidValue, "fn is null");
  PluginEngine* engine = nullptr;
  if (auto error = find_plugin(type, &engine)) return error;
  const int count = engine->backend.device_count(engine->backend);
  if (device < 0 || device >= count)
    return fail(infinirtErrorInvalidDevice, "device is %d; there are %d of type '%s'", device, count, type);
  return engine->call(device, alone, fn, data);
}

infinirtError_t use_native(infinirtStream_t handle, const void* pointer, size_t bytes, const char* argument,
                           void** native) {
  if (auto error = barred()) return error;
  if (!argument || !native) return fail(infinirtErrorInvalidValue, "argument and native must not be null");
  const char* type = nullptr;
  int device = 0;
  if (auto error = infinirtXStreamGetDevice(handle, &type, &device)) return error;
  PluginEngine* engine = nullptr;
  if (auto error = find_plugin(type, &engine)) return error;
  infinirtError_t error = infinirtSuccess;
  const Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  const Operand operand = find_operand(pointer);
  if (operand.place != Place::Device || operand.backend != &engine->backend || operand.device != device) {
    return fail(infinirtErrorInvalidValue, "%s %p is not memory of %s:%d, whose own library has to reach it", argument,
                pointer, type, device);
  }
  if (auto wrong = check_operand(*engine, operand, pointer, bytes, argument)) return wrong;
  note_use(*stream, operand);
  *native = engine->native_address(pointer);
  return infinirtSuccess;
}

}  // namespace

}  // namespace infinirt::plugin

using namespace infinirt;  // NOLINT: the C entry points below are outside the namespace

extern "C" {

infinirtError_t infinirtXGetPluginTable(const char* type, const infinirtPluginInterface** table) {
  return finish_error(__func__, plugin::get_table(type, table));
}

infinirtError_t infinirtXCallPlugin(const char* type, int device, int alone,
                                    void (*fn)(infinirtPluginDevice_t handle, void* data), void* data) {
  return finish_error(__func__, plugin::call(type, device, alone != 0, fn, data));
}

infinirtError_t infinirtXStreamUseNative(infinirtStream_t stream, const void* pointer, size_t bytes,
                                         const char* argument, void** native) {
  return finish_error(__func__, plugin::use_native(stream, pointer, bytes, argument, native));
}

}  // extern "C"
