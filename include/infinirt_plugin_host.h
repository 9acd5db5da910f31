/* infinirt_plugin_host.h: for libraries on top of the runtime that use entries of a plugin which the runtime itself does not,
 * as infiniccl uses a vendor's collectives. Programs need none of this.
 *
 * Functions return infinirtSuccess or an error whose message infinirtXGetLastErrorMessage has. They may be called by any thread that
 * may use the plugin, steps excepted.
 */
#ifndef INFINIRT_PLUGIN_HOST_H
#define INFINIRT_PLUGIN_HOST_H

#include "infinirt_ext.h"
#include "infinirt_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The table of the plugin behind a device type, in the newest layout: null where the plugin, or the release it was built for, has no
 * such entry. Loads the plugin. InvalidDevice for an unknown type; NotSupported for one that is no plugin, or whose plugin cannot be
 * loaded. The table lives as long as the process. */
INFINIRT_API infinirtError_t infinirtXGetPluginTable(const char* type, const infinirtPluginInterface** table);

/* Calls fn(handle, data) with the device current on this thread, and `handle` as the plugin knows it. With `alone` nobody else is inside
 * the plugin meanwhile, unless it was loaded as thread-safe: so for all entries but those that wait for other ranks. `fn` may not
 * call the runtime. */
INFINIRT_API infinirtError_t infinirtXCallPlugin(const char* type, int device, int alone,
                                                 void (*fn)(infinirtPluginDevice_t handle, void* data), void* data);

/* As infinirtXStreamUse, for memory of the stream's own device: checks it, makes frees of it wait for the stream, and gives the address
 * by which the plugin knows it. */
INFINIRT_API infinirtError_t infinirtXStreamUseNative(infinirtStream_t stream, const void* pointer, size_t bytes,
                                                      const char* argument, void** native);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INFINIRT_PLUGIN_HOST_H */
