# infinirt-plugin-probe: tries plugins out in a process of its own. It stands beside the library, which looks for it there.
add_executable(infinirt-plugin-probe
  csrc/backends/plugin/probe/main.cpp csrc/backends/plugin/open.cpp csrc/backends/plugin/layouts.cpp)
target_link_libraries(infinirt-plugin-probe PRIVATE infinirt_flags)
target_include_directories(infinirt-plugin-probe PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/csrc)
set_target_properties(infinirt-plugin-probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
install(TARGETS infinirt-plugin-probe RUNTIME DESTINATION ${INFINIRT_LIBRARY_DIR} COMPONENT library)
