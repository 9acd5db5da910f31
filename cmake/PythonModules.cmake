# Extension modules. `_runtime` is the flat API on CPython's own C API (csrc/bindings/*.cpp plus generated code);
# `_core` is what the object API is made of, likewise (csrc/bindings/objects/*.cpp); `_extras` is everything off the hot path,
# on nanobind (csrc/bindings/nanobind/*.cpp). `infinicore._core` (csrc/bindings/infinicore/*.cpp) is the C++ half of infinicore,
# `infiniccl._core` (csrc/bindings/infiniccl/*.cpp) that of infiniccl.
# All find the library in the package's lib/ folder, wherever the package lies.

# infinirt_configure_module(target [package rpath])
function(infinirt_configure_module target)
  set(package ${INFINIRT_PACKAGE_DIR})
  set(rpath "$ORIGIN/lib")
  if(ARGC GREATER 1)
    set(package ${ARGV1})
    set(rpath ${ARGV2})
  endif()
  add_dependencies(${target} infinirt_generated)
  target_link_libraries(${target} PRIVATE infinirt infinirt_flags)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/csrc ${INFINIRT_GENERATED_ROOT})
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    BUILD_RPATH ${PROJECT_BINARY_DIR}/lib
    INSTALL_RPATH ${rpath})
  # Functions of the interpreter by their address, not by a stub in another line of the cache, which a driver's call has emptied.
  target_compile_options(${target} PRIVATE -fno-plt)
  install(TARGETS ${target} LIBRARY DESTINATION ${package} COMPONENT python)
endfunction()

file(GLOB runtime_sources CONFIGURE_DEPENDS csrc/bindings/*.cpp)
if(runtime_sources)
  infinirt_generate(flat flat.inc)
  add_custom_target(infinirt_generated_flat DEPENDS ${INFINIRT_GENERATED_DIR}/flat.inc)
  Python_add_library(_runtime MODULE WITH_SOABI ${runtime_sources})
  infinirt_precompile(_runtime)
  add_dependencies(_runtime infinirt_generated_flat)
  infinirt_configure_module(_runtime)
endif()

file(GLOB object_sources CONFIGURE_DEPENDS csrc/bindings/objects/*.cpp)
if(object_sources)
  Python_add_library(_core MODULE WITH_SOABI ${object_sources})
  infinirt_precompile(_core)
  infinirt_configure_module(_core)
endif()

file(GLOB infinicore_sources CONFIGURE_DEPENDS csrc/bindings/infinicore/*.cpp)
if(infinicore_sources)
  Python_add_library(infinicore_core MODULE WITH_SOABI ${infinicore_sources} csrc/bindings/objects/arguments.cpp)
  infinirt_precompile(infinicore_core)
  infinirt_configure_module(infinicore_core infinicore "$ORIGIN/../infinirt/lib")
  # Two modules are called _core: each has a folder of its own.
  set_target_properties(infinicore_core PROPERTIES
    OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/infinicore)
  target_include_directories(infinicore_core PRIVATE ${INFINIOP_GENERATED_DIR}/build)
  # Loaded with the module, although no name of it is imported: its functions are looked up.
  target_link_libraries(infinicore_core PRIVATE ${CMAKE_DL_LIBS} -Wl,--no-as-needed infiniop)
endif()

file(GLOB infiniccl_sources CONFIGURE_DEPENDS csrc/bindings/infiniccl/*.cpp)
if(infiniccl_sources)
  Python_add_library(infiniccl_core MODULE WITH_SOABI ${infiniccl_sources})
  infinirt_precompile(infiniccl_core)
  infinirt_configure_module(infiniccl_core infiniccl "$ORIGIN/../infinirt/lib")
  set_target_properties(infiniccl_core PROPERTIES
    OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/infiniccl)
  target_link_libraries(infiniccl_core PRIVATE infiniccl)
endif()

file(GLOB nanobind_sources CONFIGURE_DEPENDS csrc/bindings/nanobind/*.cpp)
if(nanobind_sources)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_dir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE nanobind_status)
  if(NOT nanobind_status EQUAL 0)
    message(FATAL_ERROR "The Python bindings need nanobind: ${Python_EXECUTABLE} -m pip install nanobind, "
                        "or configure with -DINFINIRT_BUILD_PYTHON=OFF")
  endif()
  find_package(nanobind CONFIG REQUIRED PATHS ${nanobind_dir} NO_DEFAULT_PATH)
  nanobind_add_module(_extras NB_STATIC ${nanobind_sources})
  infinirt_configure_module(_extras)
endif()
