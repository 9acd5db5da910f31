#include "backends/plugin/probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/log.h"
#include "core/visible_devices.h"

extern char** environ;

namespace infinirt::plugin {

namespace {

constexpr int kPatienceSeconds = 60;
constexpr size_t kShownOutput = 400;
constexpr const char* kHelperName = "infinirt-plugin-probe";

int patience_seconds() {
  const char* wanted = std::getenv("INFINIRT_PLUGIN_TIMEOUT");
  int seconds = 0;
  if (!wanted || !*wanted) return kPatienceSeconds;
  if (parse_number(wanted, &seconds) && seconds > 0) return seconds;
  report_setting("INFINIRT_PLUGIN_TIMEOUT", wanted, "a number of seconds");
  return kPatienceSeconds;
}

class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

// Beside the library; a program that contains the library itself (the C++ tests) has it in the next folder.
std::string helper_path() {
  Dl_info self;
  if (!dladdr(reinterpret_cast<void*>(&helper_path), &self) || !self.dli_fname) return "";
  std::string folder = self.dli_fname;
  if (folder.find('/') == std::string::npos) folder = "/proc/self/exe";
  char resolved[4096];
  if (realpath(folder.c_str(), resolved)) folder = resolved;
  folder.resize(folder.find_last_of('/') + 1);
  for (const char* place : {"", "../lib/"}) {
    const std::string path = folder + place + kHelperName;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// posix_spawn, because this process may have threads and locks of all kinds.
int start(const std::string& helper, const char* const* arguments, const File& report, const File& output,
          pid_t* process) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, output.get(), 2);
  posix_spawn_file_actions_adddup2(&actions, report.get(), 3);
  const int error = posix_spawn(process, helper.c_str(), &actions, nullptr, const_cast<char**>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int64_t now_ms() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1000000;
}

// What the helper reports, up to its last line or its end. False when it did neither in time.
bool read_report(int from, int64_t deadline, std::string* text) {
  const auto complete = [&] {
    const size_t last = text->find_last_of('\n', text->size() - 2);
    const size_t begin = last == std::string::npos ? 0 : last + 1;
    return !text->empty() && text->back() == '\n' && text->compare(begin, 5, "step ") != 0;
  };
  char piece[4096];
  for (;;) {
    pollfd wait = {from, POLLIN, 0};
    const int64_t left = deadline - now_ms();
    const int ready = left > 0 ? poll(&wait, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = read(from, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text->append(piece, static_cast<size_t>(count));
    if (complete()) return true;
  }
}

// Reaps the helper, which has no more than a moment left. False when somebody else reaped it.
bool end_of(pid_t process, int* status) {
  const int64_t deadline = now_ms() + 2000;
  for (;;) {
    const pid_t done = waitpid(process, status, WNOHANG);
    if (done == process) return true;
    if (done < 0 && errno != EINTR) return false;
    if (now_ms() > deadline) kill(process, SIGKILL);
    usleep(1000);
  }
}

std::string last_output(int file) {
  std::string text(kShownOutput, '\0');
  const off_t end = lseek(file, 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(text.size()));
  const ssize_t count = pread(file, text.data(), text.size(), begin);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string last_step(const std::string& report) {
  const size_t found = report.rfind("step ");
  if (found == std::string::npos) return "starting";
  return report.substr(found + 5, report.find('\n', found) - found - 5);
}

std::string death(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("it killed the process (signal ") + std::to_string(WTERMSIG(status)) + ", " +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "it ended the process with exit status " + std::to_string(WEXITSTATUS(status));
}

enum class Answer { Opened, Untouched, Failed };

// The last line of a report.
Answer understand(const std::string& report, Probed* result) {
  if (report.empty() || report.back() != '\n') return Answer::Failed;
  const size_t last = report.find_last_of('\n', report.size() - 2);
  const std::string line = report.substr(last == std::string::npos ? 0 : last + 1);
  if (line == "untouched\n") return Answer::Untouched;
  if (line.rfind("problem ", 0) == 0) return result->problem = line.substr(8, line.size() - 9), Answer::Failed;
  char layout[8] = "", type[64] = "";
  int end = 0;
  if (std::sscanf(line.c_str(), "opened %7s %d %63s %n", layout, &result->devices, type, &end) != 3 ||
      !layout_named(layout, &result->layout))
    return Answer::Failed;
  result->type = type;
  result->sub_type = line.substr(static_cast<size_t>(end));
  while (!result->sub_type.empty() && result->sub_type.back() == '\n') result->sub_type.pop_back();
  return Answer::Opened;
}

Answer ask(const std::string& helper, const std::string& path, const Layout* forced, const Layout* fallback,
           Probed* result) {
  result->problem.clear();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result->problem = std::string("it cannot be tried out, there is no pipe: ") + std::strerror(errno);
    return Answer::Failed;
  }
  File from(ends[0]), to(ends[1]), output(memfd_create("infinirt-plugin-output", MFD_CLOEXEC));
  const std::string library = kernel_library();
  const char* const arguments[] = {helper.c_str(),
                                   path.c_str(),
                                   layout_name(result->told),
                                   forced ? layout_name(*forced) : "-",
                                   fallback ? layout_name(*fallback) : "-",
                                   library.empty() ? "-" : library.c_str(),
                                   nullptr};
  pid_t process = -1;
  if (const int error = start(helper, arguments, to, output, &process)) {
    result->problem = "it cannot be tried out, " + helper + " does not start: " + std::strerror(error);
    return Answer::Failed;
  }
  to.close();
  std::string report;
  const int patience = patience_seconds();
  const bool in_time = read_report(from.get(), now_ms() + int64_t{patience} * 1000, &report);
  if (!in_time) kill(process, SIGKILL);
  int status = 0;
  const bool known = end_of(process, &status);
  const Answer answer = understand(report, result);
  if (answer != Answer::Failed || !result->problem.empty()) return answer;
  const std::string step = last_step(report), said = last_output(output.get());
  result->problem =
      (!in_time ? "it did not return within " + std::to_string(patience) + " seconds (INFINIRT_PLUGIN_TIMEOUT)"
       : known  ? death(status)
                : std::string("it ended the process")) +
      " in the step '" + step + "', tried out in a process of its own" +
      (said.empty() ? "" : "; it last wrote: " + said);
  return Answer::Failed;
}

}  // namespace

std::string kernel_library() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        const char* slash = std::strrchr(info->dlpi_name, '/');
        if (!slash || std::strcmp(slash, "/libphi_core.so") != 0) return 0;
        *static_cast<std::string*>(into) = info->dlpi_name;
        return 1;
      },
      &found);
  return found;
}

Probed probe(const std::string& path, const Layout* forced, const Layout* fallback) {
  Probed result;
  static const std::string helper = helper_path();
  if (helper.empty()) {
    result.problem =
        std::string("it cannot be tried out: ") + kHelperName + " is not beside the library; install again";
    return result;
  }
  // What the releases' own headers check passes for one of the first two; the others are for plugins that are stricter.
  for (const Layout told : {Layout::V3_3, Layout::V2_6, Layout::V3_2, Layout::V3_1, Layout::V3_0}) {
    result.told = told;
    const Answer answer = ask(helper, path, forced, fallback, &result);
    if (answer == Answer::Opened) return result.good = true, result;
    if (answer == Answer::Failed) return result;
  }
  result.problem = "InitPlugin wrote nothing for any known version of the interface (PaddlePaddle 2.6 to 3.3)";
  return result;
}

}  // namespace infinirt::plugin
