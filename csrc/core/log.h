// INFINIRT_LOG=error|api: one line per failure, or per call, on standard error.
#pragma once

namespace infinirt {

enum class LogLevel { Off = 0, Error = 1, Api = 2 };

bool log_enabled(LogLevel level);
void log_line(const char* what, const char* text);

}  // namespace infinirt
