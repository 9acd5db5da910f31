# The operator library, libinfiniop.so.1, and libinfiniop.so of the earlier generation, over the runtime's public functions alone.
# Their headers, C functions and innermost loops are generated from src/infiniop/schema when the build is configured: which files there
# are depends on the operators.
set(INFINIOP_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated_op)
file(GLOB_RECURSE schema_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/infiniop/schema/*.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${schema_files})
execute_process(
  COMMAND ${Python_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/src/infiniop/schema/generate.py --out ${INFINIOP_GENERATED_DIR}
  RESULT_VARIABLE schema_status)
if(NOT schema_status EQUAL 0)
  message(FATAL_ERROR "The operators' schema could not be read; the message above says why")
endif()

# Files that are compiled for a GPU at run time go into the library as text.
file(GLOB op_written_texts CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/csrc/op csrc/op/nvidia/written/*.cu csrc/op/nvidia/written/*.cuh)
foreach(file nvidia/kernel.cu nvidia/chain.cu nvidia/rows.cu nvidia/few_rows.cu nvidia/arguments.h nvidia/written_arguments.h nvidia/elements.h expression.h elementary.h narrow.h
        ${op_written_texts})
  set(source ${PROJECT_SOURCE_DIR}/csrc/op/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} op_text)
  get_filename_component(name ${file} NAME)
  file(CONFIGURE OUTPUT ${INFINIOP_GENERATED_DIR}/build/infiniop/generated/${name}.inc
       CONTENT "R\"CUDA(@op_text@)CUDA\"\n" @ONLY)
endforeach()

file(GLOB op_sources CONFIGURE_DEPENDS csrc/op/*.cpp csrc/op/*/*.cpp csrc/op/nvidia/written/*.cpp)
file(GLOB op_leveled_sources CONFIGURE_DEPENDS csrc/op/cpu/written/*.cpp)
list(APPEND op_leveled_sources csrc/op/cpu/few_rows.cpp csrc/op/cpu/packed_product.cpp csrc/op/cpu/tiled_product.cpp)
file(GLOB op_once_sources CONFIGURE_DEPENDS csrc/op/cpu/written_once/*.cpp)
list(FILTER op_sources EXCLUDE REGEX "csrc/op/(cpu/(tiles|few_rows|packed_product|tiled_product)|generation/[a-z0-9]+)\\.cpp$")
set(op_includes ${INFINIOP_GENERATED_DIR}/include ${INFINIOP_GENERATED_DIR}/build ${PROJECT_SOURCE_DIR}/include
                ${PROJECT_SOURCE_DIR}/csrc)

# The innermost loops and the written operators, once for each instruction set. Results do not depend on which one is taken: products and sums are not
# contracted. Integers wrap around. Errno and traps are nobody's concern here, and would keep loops from becoming vectors.
set(op_loop_flags -O3 -fwrapv -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc's search for values that one branch already knows makes branches of choices between two, and so does its search for conditions that one
  # branch already decides (from gcc 13 on: a choice that follows from an earlier one of the same number); then the loop is no vector.
  list(APPEND op_loop_flags -fno-tree-pre -fno-thread-jumps)
endif()
# What most processors have goes first for a compiler's time: plain loops are for those of before 2013.
set(op_plain_effort -O3)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(op_plain_effort -O1)
endif()
function(infiniop_add_tiles name)
  add_library(infiniop_tiles_${name} OBJECT csrc/op/cpu/tiles.cpp ${op_leveled_sources})
  target_link_libraries(infiniop_tiles_${name} PRIVATE infinirt_flags)
  target_include_directories(infiniop_tiles_${name} PRIVATE ${op_includes})
  target_compile_definitions(infiniop_tiles_${name} PRIVATE INFINIOP_TILES=tiles_${name} INFINIOP_LEVEL=${name})
  target_compile_options(infiniop_tiles_${name} PRIVATE ${op_loop_flags} ${ARGN})
  infinirt_unoptimised_if_sanitized(infiniop_tiles_${name})
  infinirt_precompile(infiniop_tiles_${name})
  set_target_properties(infiniop_tiles_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  set(op_tile_objects ${op_tile_objects} $<TARGET_OBJECTS:infiniop_tiles_${name}> PARENT_SCOPE)
endfunction()

# But for matrix products: their bits depend on the library that computes them in any case. A precompiled header would bring its own setting of this along.
set_source_files_properties(csrc/op/cpu/few_rows.cpp csrc/op/cpu/packed_product.cpp
  PROPERTIES COMPILE_OPTIONS -ffp-contract=fast SKIP_PRECOMPILE_HEADERS ON)

set(op_tile_objects)
infiniop_add_tiles(plain ${op_plain_effort})
# These are the same for all: their speed is memory's.
add_library(infiniop_written_once OBJECT ${op_once_sources})
target_link_libraries(infiniop_written_once PRIVATE infinirt_flags)
target_include_directories(infiniop_written_once PRIVATE ${op_includes})
target_compile_definitions(infiniop_written_once PRIVATE INFINIOP_LEVEL=plain INFINIOP_COMPILED_ONCE)
target_compile_options(infiniop_written_once PRIVATE ${op_loop_flags} -O2)
infinirt_unoptimised_if_sanitized(infiniop_written_once)
infinirt_precompile(infiniop_written_once)
set_target_properties(infiniop_written_once PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
list(APPEND op_tile_objects $<TARGET_OBJECTS:infiniop_written_once>)
# A sanitizer build looks for mistakes, not for speed, and one level has them all.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT INFINIRT_SANITIZE)
  set(op_x86_levels ON)
  infiniop_add_tiles(v3 -march=x86-64-v3)
  infiniop_add_tiles(v4 -march=x86-64-v4)
endif()

if(op_x86_levels)
  # Beyond x86-64-v4, for the machines that have it; machine.h says which. Without the headers that all share: they were compiled for others.
  set_source_files_properties(csrc/op/cpu/bfloat_pairs.cpp csrc/op/cpu/bfloat_weights.cpp PROPERTIES
    COMPILE_OPTIONS "-O3;-march=x86-64-v4;-mavx512bf16" COMPILE_DEFINITIONS INFINIOP_PAIRS SKIP_PRECOMPILE_HEADERS ON)
  # gcc 12 takes what its own functions leave undefined on purpose for a mistake.
  set_property(SOURCE csrc/op/cpu/bfloat_weights.cpp APPEND PROPERTY COMPILE_OPTIONS -Wno-uninitialized -Wno-maybe-uninitialized)
  set_source_files_properties(csrc/op/cpu/bfloat_tiles.cpp PROPERTIES
    COMPILE_OPTIONS "-O3;-march=x86-64-v4;-mavx512bf16;-mamx-tile;-mamx-bf16" COMPILE_DEFINITIONS INFINIOP_TILE_REGISTERS
    SKIP_PRECOMPILE_HEADERS ON)
  set_source_files_properties(csrc/op/cpu/byte_tiles.cpp PROPERTIES
    COMPILE_OPTIONS "-O3;-march=x86-64-v4;-mamx-tile;-mamx-int8" COMPILE_DEFINITIONS INFINIOP_TILE_REGISTERS
    SKIP_PRECOMPILE_HEADERS ON)
  target_compile_definitions(infiniop_tiles_v4 PRIVATE INFINIOP_PAIRS INFINIOP_TILE_REGISTERS)
endif()

# The same objects are the library of two generations of the runtime's API; one file differs, and the version of the symbols: what was
# linked against one is never bound to the other.
add_library(infiniop_objects OBJECT ${op_sources} ${INFINIOP_GENERATED_DIR}/build/infiniop/generated/operators.cpp)
target_link_libraries(infiniop_objects PRIVATE infinirt_flags)
target_include_directories(infiniop_objects PRIVATE ${op_includes})
add_dependencies(infiniop_objects infinirt_generated)
infinirt_unoptimised_if_sanitized(infiniop_objects)
infinirt_precompile(infiniop_objects)
set_target_properties(infiniop_objects PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
if(op_x86_levels)
  target_compile_definitions(infiniop_objects PRIVATE INFINIOP_X86_LEVELS)
endif()

function(infiniop_add_library target generation)
  set(op_version_script ${INFINIOP_GENERATED_DIR}/build/${target}.map)
  add_library(${target} SHARED csrc/op/generation/${generation}.cpp $<TARGET_OBJECTS:infiniop_objects> ${op_tile_objects})
  target_link_libraries(${target} PRIVATE infinirt infinirt_flags)
  target_include_directories(${target} PRIVATE ${op_includes})
  # nodelete: kernels of this library may be running, or stand in graphs.
  target_link_options(${target} PRIVATE
    LINKER:--version-script=${op_version_script} LINKER:-Bsymbolic LINKER:-z,nodelete)
  if(NOT INFINIRT_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${op_version_script}
    BUILD_WITH_INSTALL_RPATH ON)
endfunction()

infiniop_add_library(infiniop aligned)
add_library(InfiniRT::infiniop ALIAS infiniop)
target_include_directories(infiniop PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${INFINIOP_GENERATED_DIR}/include>
  $<INSTALL_INTERFACE:${INFINIRT_INCLUDE_DIR}>)
set_target_properties(infiniop PROPERTIES
  VERSION 1
  SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  INSTALL_RPATH "$ORIGIN")

# The earlier generation's, in its root. There is one file of it, unlike of libinfinirt there: handles and descriptors are known to
# the copy that made them. So its SONAME is the name that programs load and link by, which is the original's.
infiniop_add_library(infiniop_v0 v0)
target_link_libraries(infiniop_v0 PRIVATE infinirt_v0)
target_link_options(infiniop_v0 PRIVATE LINKER:-soname,libinfiniop.so)
set_target_properties(infiniop_v0 PROPERTIES
  OUTPUT_NAME infiniop
  NO_SONAME ON # of CMake's making
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/v0/lib
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../lib")
install(TARGETS infiniop_v0 LIBRARY DESTINATION ${INFINIRT_V0_DIR}/lib COMPONENT library)
install(DIRECTORY ${INFINIOP_GENERATED_DIR}/include/infiniop include/infiniop ${INFINIOP_GENERATED_DIR}/include_v0/
        DESTINATION ${INFINIRT_V0_DIR}/include COMPONENT development
        PATTERN chain.h EXCLUDE)

install(TARGETS infiniop EXPORT InfiniRTTargets
        LIBRARY DESTINATION ${INFINIRT_LIBRARY_DIR} COMPONENT library NAMELINK_SKIP)
install(DIRECTORY ${INFINIOP_GENERATED_DIR}/include/ DESTINATION ${INFINIRT_INCLUDE_DIR} COMPONENT development)
# As for the runtime: the name that -linfiniop looks for is a linker script.
file(WRITE ${PROJECT_BINARY_DIR}/linkname/libinfiniop.so "INPUT ( libinfiniop.so.1 )\n")
install(FILES ${PROJECT_BINARY_DIR}/linkname/libinfiniop.so
        DESTINATION ${INFINIRT_LIBRARY_DIR} COMPONENT development)
configure_file(cmake/infiniop.pc.in ${PROJECT_BINARY_DIR}/infiniop.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/infiniop.pc
        DESTINATION ${INFINIRT_LIBRARY_DIR}/pkgconfig COMPONENT development)
