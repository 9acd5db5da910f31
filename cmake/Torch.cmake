# What PyTorch's pluggable allocator loads: a library of its own on top of the public functions, in the package's lib/ folder.
# PyTorch is not needed to build it.
file(GLOB torch_sources CONFIGURE_DEPENDS csrc/torch/*.cpp)
add_library(infinirt_torch SHARED ${torch_sources})
target_link_libraries(infinirt_torch PRIVATE infinirt infinirt_flags)
target_include_directories(infinirt_torch PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/csrc)
target_link_options(infinirt_torch PRIVATE LINKER:-Bsymbolic LINKER:-z,nodelete)
set_target_properties(infinirt_torch PROPERTIES
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  BUILD_WITH_INSTALL_RPATH ON
  INSTALL_RPATH "$ORIGIN")
install(TARGETS infinirt_torch LIBRARY DESTINATION ${INFINIRT_LIBRARY_DIR} COMPONENT python)
