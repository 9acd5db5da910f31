// INFINIRT_LOG=error|api: one line per failure, or per call, on standard error.
#pragma once

namespace infinirt {

enum class LogLevel { Off = 0, Error = 1, Api = 2 };

bool log_enabled(LogLevel level);
void log_line(const char* what, const char* text);

// Says on standard error that a setting has a value that means nothing, whatever INFINIRT_LOG is. For settings that belong to
// no device; a device's own are its `problem`, so that the first call that needs the device fails with them.
void report_setting(const char* name, const char* value, const char* expected);

}  // namespace infinirt
