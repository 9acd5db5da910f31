# The library: libinfinirt.so.1, and the same objects for tests that look inside.

file(GLOB core_sources CONFIGURE_DEPENDS
     csrc/core/*.cpp csrc/allocator/*.cpp csrc/cache/*.cpp csrc/engine/*.cpp csrc/backends/*/*.cpp)
set(generated_sources ${INFINIRT_GENERATED_FILES})
list(FILTER generated_sources INCLUDE REGEX "\\.cpp$")

add_library(infinirt_objects OBJECT ${core_sources} ${generated_sources})
add_dependencies(infinirt_objects infinirt_generated)
infinirt_precompile(infinirt_objects)
target_link_libraries(infinirt_objects PUBLIC infinirt_flags)
target_include_directories(infinirt_objects PUBLIC
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/csrc ${INFINIRT_GENERATED_ROOT})
target_compile_options(infinirt_objects PRIVATE -fno-semantic-interposition)
set_target_properties(infinirt_objects PROPERTIES
  POSITION_INDEPENDENT_CODE ON
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON)

add_library(infinirt SHARED $<TARGET_OBJECTS:infinirt_objects>)
add_library(InfiniRT::infinirt ALIAS infinirt)
add_dependencies(infinirt infinirt_generated)
target_link_libraries(infinirt PRIVATE infinirt_flags)
target_include_directories(infinirt PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${INFINIRT_INCLUDE_DIR}>)
# -Bsymbolic: calls inside the library stay inside, although another library of the process may define the same names.
# nodelete: worker threads are never joined, so the code they run must never be unmapped.
target_link_options(infinirt PRIVATE
  LINKER:--version-script=${INFINIRT_VERSION_SCRIPT} LINKER:-Bsymbolic LINKER:-z,nodelete)
if(NOT INFINIRT_SANITIZE)
  target_link_options(infinirt PRIVATE LINKER:-z,defs)
endif()
set_target_properties(infinirt PROPERTIES
  VERSION 1
  SOVERSION 1
  LINK_DEPENDS ${INFINIRT_VERSION_SCRIPT}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
