#include "core/log.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace infinirt {

namespace {

LogLevel read_level() {
  const char* value = std::getenv("INFINIRT_LOG");
  if (!value || !*value) return LogLevel::Off;
  if (std::strcmp(value, "api") == 0) return LogLevel::Api;
  if (std::strcmp(value, "error") == 0) return LogLevel::Error;
  report_setting("INFINIRT_LOG", value, "error or api; nothing is logged");
  return LogLevel::Off;
}

}  // namespace

bool log_enabled(LogLevel level) {
  static const LogLevel configured = read_level();
  return configured >= level;
}

void log_line(const char* what, const char* text) {
  char line[1400];
  const int n = std::snprintf(line, sizeof line, "[infinirt %d] %s: %s\n", static_cast<int>(getpid()), what, text);
  if (n > 0) (void)!write(2, line, static_cast<size_t>(n) < sizeof line ? static_cast<size_t>(n) : sizeof line - 1);
}

void report_setting(const char* name, const char* value, const char* expected) {
  char text[512];
  std::snprintf(text, sizeof text, "%s=%.200s is not known; it may be %s", name, value, expected);
  log_line("setting", text);
}

}  // namespace infinirt
