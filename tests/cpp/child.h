// Runs a part of a test in a process of its own: settings from the environment are read once per process, and some errors
// last as long as the process.
//
//     CHILD(isolated) { ... CHECK(...); }                      // not run by itself
//     TEST(isolated_memory) { CHECK_EQ(run_child("isolated", {"INFINIRT_CPU_MEMORY=isolated"}), 0); }
//     CHILD_MAIN()                                             // instead of TEST_MAIN()
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

namespace child {

inline std::vector<check::Test>& bodies() {
  static std::vector<check::Test> all;
  return all;
}

inline bool add(const char* name, void (*body)()) {
  bodies().push_back({name, body});
  return true;
}

// The child's exit status: 0 when all its checks held, 128 + signal when it died of one.
inline int run(const char* name, const std::vector<std::string>& settings) {
  std::vector<std::string> environment = settings;
  for (char** entry = environ; *entry; ++entry) {
    const size_t length = std::strcspn(*entry, "=") + 1;
    bool overridden = false;
    for (const auto& setting : settings) overridden |= setting.compare(0, length, *entry, length) == 0;
    if (!overridden) environment.emplace_back(*entry);
  }
  std::vector<char*> pointers;
  for (auto& entry : environment) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  std::string program = "/proc/self/exe", option = "--child", argument = name;
  char* arguments[] = {program.data(), option.data(), argument.data(), nullptr};
  pid_t process = 0;
  if (posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, pointers.data()) != 0) return -1;
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--child") != 0) return check::run(argc, argv);
  for (const auto& body : bodies()) {
    if (std::strcmp(body.name, argv[2]) != 0) continue;
    try {
      body.body();
    } catch (const check::Skip& skip) {
      std::printf("      skipped the rest of %s: %s\n", argv[2], skip.reason.c_str());
    } catch (const check::Abandon&) {
    }
    return check::failures() == 0 ? 0 : 1;
  }
  std::fprintf(stderr, "there is no child '%s'\n", argv[2]);
  return 2;
}

}  // namespace child

#define CHILD(name)                                                 \
  static void child_##name();                                       \
  static const bool added_##name = child::add(#name, child_##name); \
  static void child_##name()

#define CHILD_MAIN() \
  int main(int argc, char** argv) { return child::main(argc, argv); }
