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
  target_compile_options(infinirt_flags INTERFACE ${sanitizers} -g -O1 -fno-omit-frame-pointer)
  target_link_options(infinirt_flags INTERFACE ${sanitizers})
endif()
