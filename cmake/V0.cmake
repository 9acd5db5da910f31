# The earlier generation (v0): a library of its own on top of the new one, in a directory laid out as its programs expect
# (include/, lib/). Its place relative to the library is the same in the build tree and in an installation, and so is
# the RPATH.

set(INFINIRT_V0_DIR ${INFINIRT_PACKAGE_DIR}/v0)
set(INFINIRT_V0_SONAME libinfinirt_v0.so.0)
set(v0_version_script ${PROJECT_SOURCE_DIR}/csrc/v0/v0.map)
set(v0_build_dir ${PROJECT_BINARY_DIR}/v0/lib)

file(GLOB v0_sources CONFIGURE_DEPENDS csrc/v0/*.cpp)
add_library(infinirt_v0 SHARED ${v0_sources})
target_link_libraries(infinirt_v0 PRIVATE infinirt infinirt_flags)
target_include_directories(infinirt_v0 PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(infinirt_v0 PRIVATE INFINIRT_V0_SONAME="${INFINIRT_V0_SONAME}")
# nodelete: what a second copy of this library learned about the first must stay true.
target_link_options(infinirt_v0 PRIVATE
  LINKER:--version-script=${v0_version_script} LINKER:-Bsymbolic LINKER:-z,nodelete)
if(NOT INFINIRT_SANITIZE)
  target_link_options(infinirt_v0 PRIVATE LINKER:-z,defs)
endif()
set_target_properties(infinirt_v0 PROPERTIES
  SOVERSION 0
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS ${v0_version_script}
  LIBRARY_OUTPUT_DIRECTORY ${v0_build_dir}
  BUILD_WITH_INSTALL_RPATH ON
  INSTALL_RPATH "$ORIGIN/../../lib")

# Programs load and link the library as libinfinirt.so, and after linking ask for the SONAME at run time. Both names must
# be real files, because the loader does not read linker scripts and wheels hold no symbolic links; the library copes
# with being there twice.
add_custom_command(TARGET infinirt_v0 POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:infinirt_v0> ${v0_build_dir}/libinfinirt.so
  VERBATIM)

install(TARGETS infinirt_v0 LIBRARY DESTINATION ${INFINIRT_V0_DIR}/lib COMPONENT library NAMELINK_SKIP)
install(PROGRAMS ${v0_build_dir}/libinfinirt.so DESTINATION ${INFINIRT_V0_DIR}/lib COMPONENT library)
install(DIRECTORY include/v0/ DESTINATION ${INFINIRT_V0_DIR}/include COMPONENT development)
install(FILES include/infinicore.h DESTINATION ${INFINIRT_V0_DIR}/include COMPONENT development)
