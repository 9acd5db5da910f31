# The collectives, libinfiniccl.so.1, and libinfiniccl.so of the earlier generation, over the runtime's public functions alone.
file(GLOB ccl_sources CONFIGURE_DEPENDS csrc/ccl/*.cpp csrc/ccl/local/*.cpp csrc/ccl/shared/*.cpp csrc/ccl/staged/*.cpp csrc/ccl/mpi/*.cpp csrc/ccl/nccl/*.cpp csrc/ccl/plugin/*.cpp
     csrc/ccl/loops/choice.cpp)
set(ccl_includes ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/csrc)

# The innermost loops, once for each instruction set; results do not depend on which one is taken.
set(ccl_loop_objects)
function(infiniccl_add_loops name)
  add_library(infiniccl_loops_${name} OBJECT csrc/ccl/loops/loops.cpp)
  target_link_libraries(infiniccl_loops_${name} PRIVATE infinirt_flags)
  target_include_directories(infiniccl_loops_${name} PRIVATE ${ccl_includes})
  target_compile_definitions(infiniccl_loops_${name} PRIVATE INFINICCL_LEVEL=${name} INFINICCL_X86_LEVELS)
  target_compile_options(infiniccl_loops_${name} PRIVATE
    -O3 -fwrapv -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-unknown-pragmas ${ARGN})
  infinirt_unoptimised_if_sanitized(infiniccl_loops_${name})
  set_target_properties(infiniccl_loops_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  set(ccl_loop_objects ${ccl_loop_objects} $<TARGET_OBJECTS:infiniccl_loops_${name}> PARENT_SCOPE)
endfunction()
infiniccl_add_loops(plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT INFINIRT_SANITIZE)
  set(ccl_x86_levels ON)
  infiniccl_add_loops(v3 -march=x86-64-v3)
  infiniccl_add_loops(v4 -march=x86-64-v4)
endif()

# The same objects are the library of two generations of the runtime's API; one file differs, and the version of the symbols.
add_library(infiniccl_objects OBJECT ${ccl_sources})
target_link_libraries(infiniccl_objects PRIVATE infinirt_flags)
target_include_directories(infiniccl_objects PRIVATE ${ccl_includes})
add_dependencies(infiniccl_objects infinirt_generated)
infinirt_precompile(infiniccl_objects)
set_target_properties(infiniccl_objects PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
if(ccl_x86_levels)
  target_compile_definitions(infiniccl_objects PRIVATE INFINICCL_X86_LEVELS)
endif()

function(infiniccl_add_library target generation version)
  set(version_script ${PROJECT_BINARY_DIR}/${target}.map)
  file(WRITE ${version_script} "${version} {\n  global: infiniccl*;\n  local: *;\n};\n")
  add_library(${target} SHARED csrc/ccl/generation/${generation}.cpp $<TARGET_OBJECTS:infiniccl_objects> ${ccl_loop_objects})
  target_link_libraries(${target} PRIVATE infinirt infinirt_flags)
  target_include_directories(${target} PRIVATE ${ccl_includes})
  # nodelete: steps of this library may be waiting, or stand in graphs.
  target_link_options(${target} PRIVATE
    LINKER:--version-script=${version_script} LINKER:-Bsymbolic LINKER:-z,nodelete)
  if(NOT INFINIRT_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    BUILD_WITH_INSTALL_RPATH ON)
endfunction()

infiniccl_add_library(infiniccl aligned INFINICCL_1)
add_library(InfiniRT::infiniccl ALIAS infiniccl)
target_include_directories(infiniccl PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${INFINIRT_INCLUDE_DIR}>)
set_target_properties(infiniccl PROPERTIES
  VERSION 1
  SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  INSTALL_RPATH "$ORIGIN")

# The earlier generation's, in its root: one file, whose SONAME is the name that programs load and link by, as for the operators.
infiniccl_add_library(infiniccl_v0 v0 INFINICCL_0)
target_link_libraries(infiniccl_v0 PRIVATE infinirt_v0)
target_link_options(infiniccl_v0 PRIVATE LINKER:-soname,libinfiniccl.so)
set_target_properties(infiniccl_v0 PROPERTIES
  OUTPUT_NAME infiniccl
  NO_SONAME ON # of CMake's making
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/v0/lib
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../lib")
install(TARGETS infiniccl_v0 LIBRARY DESTINATION ${INFINIRT_V0_DIR}/lib COMPONENT library)
install(FILES include/infiniccl.h DESTINATION ${INFINIRT_V0_DIR}/include COMPONENT development)

install(TARGETS infiniccl EXPORT InfiniRTTargets
        LIBRARY DESTINATION ${INFINIRT_LIBRARY_DIR} COMPONENT library NAMELINK_SKIP)
# As for the runtime: the name that -linfiniccl looks for is a linker script.
file(WRITE ${PROJECT_BINARY_DIR}/linkname/libinfiniccl.so "INPUT ( libinfiniccl.so.1 )\n")
install(FILES ${PROJECT_BINARY_DIR}/linkname/libinfiniccl.so
        DESTINATION ${INFINIRT_LIBRARY_DIR} COMPONENT development)
configure_file(cmake/infiniccl.pc.in ${PROJECT_BINARY_DIR}/infiniccl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/infiniccl.pc
        DESTINATION ${INFINIRT_LIBRARY_DIR}/pkgconfig COMPONENT development)
