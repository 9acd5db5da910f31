// Libraries of kernels: shared objects with a table of them, from a file or from memory.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/handle.h"
#include "core/object_pool.h"
#include "engine/kernel.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

ObjectPool<KernelLibrary>& libraries() {
  static auto* pool = new ObjectPool<KernelLibrary>;
  return *pool;
}

infinirtError_t check_options(const void* jit, const void* jit_values, unsigned jit_count, const void* options,
                              const void* values, unsigned count) {
  if ((jit_count > 0 && (!jit || !jit_values)) || (count > 0 && (!options || !values))) {
    return fail(infinirtErrorInvalidValue, "an option array is null, but its count is not 0");
  }
  return infinirtSuccess;
}

// Reads the table of an opened module. On failure nothing stays registered.
infinirtError_t adopt(Engine& engine, void* module, int file, const char* origin, infinirtLibrary_t* out) {
  const auto* table = static_cast<const infinirtXKernelInfo*>(dlsym(module, INFINIRTX_KERNEL_TABLE_SYMBOL));
  if (!table) {
    return fail(infinirtErrorInvalidKernelImage,
                "%s is a shared object without the symbol %s: it is no library of kernels", origin,
                INFINIRTX_KERNEL_TABLE_SYMBOL);
  }
  KernelLibrary* library = libraries().acquire();
  library->engine = &engine;
  library->module = module;
  library->file = file;
  library->kernels.clear();
  infinirtError_t error = infinirtSuccess;
  for (; table->name && error == infinirtSuccess; ++table) {
    if (Kernel* kernel = register_kernel(*table, library, &error)) library->kernels.push_back(kernel);
  }
  if (error == infinirtSuccess) {
    library->handle = handle_create(HandleKind::Library, engine.backend.index, library);
    if (!library->handle) error = fail(infinirtErrorMemoryAllocation, "no room for another handle");
  }
  if (error != infinirtSuccess) {
    retire_kernels(library->kernels, *library);
    libraries().release(library);
    return error;
  }
  *out = static_cast<infinirtLibrary_t>(library->handle);
  return infinirtSuccess;
}

// Asked first: where there are no kernels, that is the answer, whatever the arguments.
infinirtError_t check_runs_kernels() {
  EngineDevice& device = current_device(thread_state());
  if (auto error = check_device(device)) return error;
  if (device.engine->runs_kernels()) return infinirtSuccess;
  return fail(infinirtErrorNotSupported, "device type '%s' cannot run kernels", device.engine->backend.name.c_str());
}

infinirtError_t load(const char* path, int file, const char* origin, infinirtLibrary_t* out) {
  EngineDevice& device = current_device(thread_state());
  void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!module) {
    const char* reason = dlerror();
    return fail(infinirtErrorInvalidKernelImage, "%s cannot be loaded as a shared object: %s", origin,
                reason ? reason : "?");
  }
  const infinirtError_t error = adopt(*device.engine, module, file, origin, out);
  if (error != infinirtSuccess) dlclose(module);
  return error;
}

// How long the ELF image in memory is: its section headers stand last in everything a linker writes, and segments must
// lie inside too. 0 when it is no 64-bit ELF image of this machine's kind.
size_t image_size(const void* code) {
  Elf64_Ehdr header;
  std::memcpy(header.e_ident, code, SELFMAG);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  std::memcpy(&header, code, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr))
    return 0;
  size_t end = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, static_cast<const char*>(code) + header.e_phoff + i * sizeof segment, sizeof segment);
    end = std::max<size_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

infinirtError_t write_image(int file, const void* code, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = write(file, static_cast<const char*>(code) + done, size - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      return fail(infinirtErrorMemoryAllocation, "code (%zu bytes) cannot be copied: %s", size, std::strerror(errno));
    }
  }
  return infinirtSuccess;
}

KernelLibrary* resolve_library(infinirtLibrary_t handle) {
  auto* library = handle_resolve<KernelLibrary>(handle, HandleKind::Library);
  if (!library) {
    char text[96];
    fail(infinirtErrorInvalidResourceHandle, "library %s",
         describe_handle(handle, HandleKind::Library, text, sizeof text));
  }
  return library;
}

// The host may not be able to read it, whether it is allocated or not.
bool in_device_memory(const void* pointer) {
  const auto engines = all_engines();
  return std::any_of(engines.begin(), engines.end(), [&](const Engine* e) { return e->in_device_range(pointer); });
}

}  // namespace

namespace engine_api {

infinirtError_t LibraryLoadFromFile(infinirtLibrary_t* library, const char* fileName,
                                    enum infinirtJitOption* jitOptions, void** jitOptionsValues,
                                    unsigned int numJitOptions, enum infinirtLibraryOption* libraryOptions,
                                    void** libraryOptionValues, unsigned int numLibraryOptions) {
  if (auto error = check_runs_kernels()) return error;
  if (!library || !fileName) return fail(infinirtErrorInvalidValue, "library and fileName must not be null");
  if (auto error = check_options(jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
                                 numLibraryOptions)) {
    return error;
  }
  if (access(fileName, R_OK) != 0) {
    return fail(infinirtErrorFileNotFound, "fileName '%s': %s", fileName, std::strerror(errno));
  }
  // A name without a slash would be looked for in the linker's search path; a file name means the file.
  const std::string path = std::strchr(fileName, '/') ? fileName : std::string("./") + fileName;
  return load(path.c_str(), -1, fileName, library);
}

infinirtError_t LibraryLoadData(infinirtLibrary_t* library, const void* code, enum infinirtJitOption* jitOptions,
                                void** jitOptionsValues, unsigned int numJitOptions,
                                enum infinirtLibraryOption* libraryOptions, void** libraryOptionValues,
                                unsigned int numLibraryOptions) {
  if (auto error = check_runs_kernels()) return error;
  if (!library || !code) return fail(infinirtErrorInvalidValue, "library and code must not be null");
  if (auto error = check_options(jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
                                 numLibraryOptions)) {
    return error;
  }
  if (in_device_memory(code)) {
    return fail(infinirtErrorInvalidValue, "code %p is device memory; the image must be in host memory", code);
  }
  const size_t size = image_size(code);
  if (size == 0) {
    return fail(infinirtErrorInvalidKernelImage,
                "code %p is not the image of a shared object for this machine (ELF, 64 bits)", code);
  }
  const int file = memfd_create("infinirt-kernels", MFD_CLOEXEC);
  if (file < 0) return fail(infinirtErrorMemoryAllocation, "no memory file for the code: %s", std::strerror(errno));
  infinirtError_t error = write_image(file, code, size);
  if (error == infinirtSuccess) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    error = load(path, file, "code", library);
  }
  // The linker knows libraries by their names, and the name is the descriptor's number: it stays taken while loaded.
  if (error != infinirtSuccess) close(file);
  return error;
}

infinirtError_t LibraryUnload(infinirtLibrary_t library) {
  KernelLibrary* found = resolve_library(library);
  if (!found) return infinirtErrorInvalidResourceHandle;
  void* module = found->module.exchange(nullptr);
  if (!module)
    return fail(infinirtErrorInvalidResourceHandle, "library %p is being unloaded by another thread",
                static_cast<void*>(library));
  handle_destroy(found->handle);
  // Launches that were issued before still run; graphs that hold a kernel find it dead when they come to it.
  for (auto& device : found->engine->devices) wait_for_device(*device);
  retire_kernels(found->kernels, *found);
  dlclose(module);
  if (found->file >= 0) close(found->file);
  libraries().release(found);
  return infinirtSuccess;
}

infinirtError_t LibraryGetKernel(infinirtKernel_t* pKernel, infinirtLibrary_t library, const char* name) {
  if (!pKernel || !name) return fail(infinirtErrorInvalidValue, "pKernel and name must not be null");
  KernelLibrary* found = resolve_library(library);
  if (!found) return infinirtErrorInvalidResourceHandle;
  for (Kernel* kernel : found->kernels) {
    if (kernel->name != name) continue;
    *pKernel = kernel->handle;
    return infinirtSuccess;
  }
  return fail(infinirtErrorSymbolNotFound, "name '%s' is not among the library's %zu kernels", name,
              found->kernels.size());
}

infinirtError_t LibraryGetKernelCount(unsigned int* count, infinirtLibrary_t lib) {
  if (!count) return fail(infinirtErrorInvalidValue, "count is null; it must point at where the result goes");
  KernelLibrary* found = resolve_library(lib);
  if (!found) return infinirtErrorInvalidResourceHandle;
  *count = static_cast<unsigned>(found->kernels.size());
  return infinirtSuccess;
}

infinirtError_t LibraryEnumerateKernels(infinirtKernel_t* kernels, unsigned int numKernels, infinirtLibrary_t lib) {
  if (!kernels) return fail(infinirtErrorInvalidValue, "kernels is null; it must point at room for numKernels handles");
  KernelLibrary* found = resolve_library(lib);
  if (!found) return infinirtErrorInvalidResourceHandle;
  const size_t count = std::min<size_t>(numKernels, found->kernels.size());
  for (size_t i = 0; i < count; ++i) kernels[i] = found->kernels[i]->handle;
  return infinirtSuccess;
}

}  // namespace engine_api

}  // namespace infinirt
