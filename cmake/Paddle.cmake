# The plugin that gives PaddlePaddle our devices. PaddlePaddle opens every library in the folder that CUSTOM_DEVICE_ROOT
# names, so this one has a folder of its own. It builds without PaddlePaddle.
set(INFINIRT_PADDLE_DIR ${INFINIRT_PACKAGE_DIR}/paddle_plugin)

file(GLOB paddle_sources CONFIGURE_DEPENDS csrc/paddle/*.cpp)
add_library(infinirt_paddle MODULE ${paddle_sources} csrc/backends/plugin/layouts.cpp)
target_link_libraries(infinirt_paddle PRIVATE infiniccl infinirt infinirt_flags)
target_include_directories(infinirt_paddle PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/csrc)
# nodelete: PaddlePaddle calls into it from its static destructors.
target_link_options(infinirt_paddle PRIVATE
  LINKER:--version-script=${PROJECT_SOURCE_DIR}/csrc/paddle/plugin.map LINKER:-Bsymbolic LINKER:-z,nodelete)
if(NOT INFINIRT_SANITIZE)
  target_link_options(infinirt_paddle PRIVATE LINKER:-z,defs)
endif()
set_target_properties(infinirt_paddle PROPERTIES
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/csrc/paddle/plugin.map
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/paddle_plugin
  BUILD_WITH_INSTALL_RPATH ON
  INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS infinirt_paddle LIBRARY DESTINATION ${INFINIRT_PADDLE_DIR} COMPONENT library)
