# Code generated from the API specification in src/infinirt/_spec, into build/generated.
# Included in C++ as "infinirt/generated/<file>". The generator needs the Python standard library only.

# An interpreter of the right version, and in one search also the headers when extensions are wanted: two searches
# could settle on two different Pythons.
if(INFINIRT_BUILD_PYTHON)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
endif()

set(INFINIRT_GENERATED_ROOT ${PROJECT_BINARY_DIR}/generated)
set(INFINIRT_GENERATED_DIR ${INFINIRT_GENERATED_ROOT}/infinirt/generated)
set(spec_dir ${PROJECT_SOURCE_DIR}/src/infinirt/_spec)
file(GLOB_RECURSE INFINIRT_SPEC_FILES CONFIGURE_DEPENDS ${spec_dir}/*.py ${spec_dir}/*.json)

# infinirt_generate(<what> <file> [<input>...]): one run of the generator that makes one file.
function(infinirt_generate what file)
  set(output ${INFINIRT_GENERATED_DIR}/${file})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${INFINIRT_GENERATED_DIR}
    COMMAND ${Python_EXECUTABLE} -B ${spec_dir}/generate.py --what ${what} --out ${output}
    DEPENDS ${INFINIRT_SPEC_FILES} ${ARGN}
    COMMENT "Generating ${file}"
    VERBATIM)
endfunction()

set(INFINIRT_VERSION_SCRIPT ${INFINIRT_GENERATED_DIR}/infinirt.map)
infinirt_generate(version_script infinirt.map ${PROJECT_SOURCE_DIR}/include/infinirt_ext.h
                  ${PROJECT_SOURCE_DIR}/include/infinirt_plugin_host.h ${PROJECT_SOURCE_DIR}/include/infinirt_observe.h)

# The library's own generated files; those that end in .cpp are compiled.
set(core_artefacts
    table:table.h
    dispatch:dispatch.cpp
    unsupported:unsupported.cpp
    errors:errors.cpp
    nvidia:nvidia_calls.cpp
    fill:api_list.inc)
set(INFINIRT_GENERATED_FILES)
foreach(artefact IN LISTS core_artefacts)
  string(REPLACE ":" ";" artefact ${artefact})
  list(GET artefact 0 what)
  list(GET artefact 1 file)
  infinirt_generate(${what} ${file})
  list(APPEND INFINIRT_GENERATED_FILES ${INFINIRT_GENERATED_DIR}/${file})
endforeach()

# Sources include generated headers before the compiler has told anyone so: generation comes first, as a whole.
add_custom_target(infinirt_generated DEPENDS ${INFINIRT_GENERATED_FILES} ${INFINIRT_VERSION_SCRIPT})
