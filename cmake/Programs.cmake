# C++ tests and benchmarks: one executable per file, named after it.

# Tests link the objects, not the library, so that they can reach what the library does not export.
if(INFINIRT_BUILD_TESTS)
  enable_testing()
  add_custom_target(cpp_tests) # whoever builds the package gets them only when asking
  file(GLOB test_sources CONFIGURE_DEPENDS tests/cpp/*_test.cpp)
  foreach(source IN LISTS test_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    add_dependencies(cpp_tests ${name})
    # What PyTorch loads looks the runtime's functions up in a library, as it does in PyTorch's process.
    if(name STREQUAL "torch_allocator_test")
      target_link_libraries(${name} PRIVATE infinirt infinirt_torch infinirt_flags)
      target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/csrc)
    elseif(name MATCHES "^collective_")
      target_link_libraries(${name} PRIVATE infiniccl infinirt infinirt_flags)
    elseif(name MATCHES "^operator_" AND INFINIRT_OPERATORS_FROM)
      set(installed ${INFINIRT_OPERATORS_FROM}/lib)
      target_link_libraries(${name} PRIVATE ${installed}/libinfiniop.so.1 ${installed}/libinfinirt.so.1 infinirt_flags)
      target_include_directories(${name} PRIVATE ${INFINIRT_OPERATORS_FROM}/include)
      set_target_properties(${name} PROPERTIES BUILD_RPATH ${installed})
    elseif(name MATCHES "^operator_") # the operators stand on the library, too
      target_link_libraries(${name} PRIVATE infiniop infinirt infinirt_flags)
    else()
      target_link_libraries(${name} PRIVATE infinirt_objects)
      infinirt_precompile(${name} ${precompiled_for_tests})
      if(NOT precompiled_for_tests)
        set(precompiled_for_tests ${name}) # the others take what the first one has
      endif()
    endif()
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/cpp)
    target_compile_options(${name} PRIVATE -O0) # what they call is compiled as it should be; they run once
    set_target_properties(${name} PROPERTIES INFINIRT_UNOPTIMISED ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name})
  endforeach()
endif()

# Benchmarks link the library as users do; only *_internals_bench.cpp measure a part that is not exported.
if(INFINIRT_BUILD_BENCHMARKS)
  file(GLOB bench_sources CONFIGURE_DEPENDS benchmarks/cpp/*_bench.cpp)
  foreach(source IN LISTS bench_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    if(name MATCHES "_internals_bench$")
      target_link_libraries(${name} PRIVATE infinirt_objects)
    else()
      target_link_libraries(${name} PRIVATE infinirt infinirt_flags)
    endif()
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/benchmarks/cpp)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/benchmarks)
  endforeach()
endif()
