# What is installed: headers, library, CMake package, pkg-config file and, outside scikit-build-core (which copies them
# itself), the Python files. `cmake --install build --prefix stage` gives a tree that PYTHONPATH=stage can use.
include(CMakePackageConfigHelpers)

set(cmake_dir ${INFINIRT_LIBRARY_DIR}/cmake/InfiniRT)

install(DIRECTORY include/ DESTINATION ${INFINIRT_INCLUDE_DIR} COMPONENT development)
install(TARGETS infinirt EXPORT InfiniRTTargets
        LIBRARY DESTINATION ${INFINIRT_LIBRARY_DIR} COMPONENT library NAMELINK_SKIP)
install(EXPORT InfiniRTTargets NAMESPACE InfiniRT:: DESTINATION ${cmake_dir} COMPONENT development)

# Wheels cannot hold symbolic links, and a second copy of the library would be a second runtime in one process:
# the name that -linfinirt looks for is a linker script which leads to the one library.
file(WRITE ${PROJECT_BINARY_DIR}/linkname/libinfinirt.so "INPUT ( libinfinirt.so.1 )\n")
install(FILES ${PROJECT_BINARY_DIR}/linkname/libinfinirt.so
        DESTINATION ${INFINIRT_LIBRARY_DIR} COMPONENT development)

configure_package_config_file(cmake/InfiniRTConfig.cmake.in ${PROJECT_BINARY_DIR}/InfiniRTConfig.cmake
                              INSTALL_DESTINATION ${cmake_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/InfiniRTConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/InfiniRTConfig.cmake ${PROJECT_BINARY_DIR}/InfiniRTConfigVersion.cmake
        DESTINATION ${cmake_dir} COMPONENT development)

configure_file(cmake/infinirt.pc.in ${PROJECT_BINARY_DIR}/infinirt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/infinirt.pc
        DESTINATION ${INFINIRT_LIBRARY_DIR}/pkgconfig COMPONENT development)

configure_file(cmake/_version.py.in ${PROJECT_BINARY_DIR}/_version.py @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/_version.py DESTINATION ${INFINIRT_PACKAGE_DIR} COMPONENT python)

if(NOT SKBUILD)
  install(DIRECTORY src/ DESTINATION . COMPONENT python
          PATTERN "__pycache__" EXCLUDE PATTERN "*.pyc" EXCLUDE)
endif()
