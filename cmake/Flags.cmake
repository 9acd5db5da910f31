# Compiler flags shared by every target: link to `infinirt_flags`.

# CMake's own Release level is -O3, which makes the dispatch code larger without making it faster.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

find_package(Threads REQUIRED)

add_library(infinirt_flags INTERFACE)
target_compile_features(infinirt_flags INTERFACE cxx_std_20 c_std_11)
target_compile_options(infinirt_flags INTERFACE -Wall -Wextra)
target_link_libraries(infinirt_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
if(INFINIRT_WERROR)
  target_compile_options(infinirt_flags INTERFACE -Werror)
endif()

if(INFINIRT_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
elseif(INFINIRT_SANITIZE STREQUAL "address")
  # Callers in C may pass any integer as an enum; refusing it with an error is our job, and tested.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=enum -fno-sanitize-recover=undefined)
elseif(INFINIRT_SANITIZE)
  message(FATAL_ERROR "INFINIRT_SANITIZE is '${INFINIRT_SANITIZE}': it must be empty, thread or address")
endif()
if(INFINIRT_SANITIZE)
  target_compile_options(infinirt_flags INTERFACE ${sanitizers} -g -fno-omit-frame-pointer
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:INFINIRT_UNOPTIMISED>>>:-O1>)
  target_link_options(infinirt_flags INTERFACE ${sanitizers})
endif()

# Optimising what a sanitizer has added to unrolled loops takes the compiler minutes for a file. After the target's other options.
function(infinirt_unoptimised_if_sanitized target)
  if(INFINIRT_SANITIZE)
    set_target_properties(${target} PROPERTIES INFINIRT_UNOPTIMISED ON)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Most of what the compiler reads in a file of ours is the standard library: it does so once for each target. Sanitizer builds go without, so that
# a file that forgets an #include does not stay unnoticed.
# A second argument is a target compiled with the same options that has them already.
function(infinirt_precompile target)
  if(NOT INFINIRT_SANITIZE)
    if(ARGN)
      target_precompile_headers(${target} REUSE_FROM ${ARGN})
    else()
      target_precompile_headers(${target} PRIVATE
        <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <functional> <map> <memory> <mutex> <string>
        <unordered_map> <vector>)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # gcc 12 suspects its own std::string, and does not see that a precompiled header is the system's.
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
  endif()
endfunction()
