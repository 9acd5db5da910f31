#include "backends/nvidia/source_files.h"

#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string_view>

namespace infinirt::nvidia {

namespace {

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool read_file(const std::string& path, std::string* text) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) return false;
  text->resize(static_cast<size_t>(status.st_size));
  text->resize(std::fread(text->data(), 1, text->size(), file.get()));
  return true;
}

// The text after blanks, comments and joined lines.
std::string_view after_blanks(std::string_view text) {
  for (;;) {
    if (begins(text, " ") || begins(text, "\t"))
      text.remove_prefix(1);
    else if (begins(text, "\\\n"))
      text.remove_prefix(2);
    else if (begins(text, "\\\r\n"))
      text.remove_prefix(3);
    else if (begins(text, "/*") && text.find("*/", 2) != std::string_view::npos)
      text.remove_prefix(text.find("*/", 2) + 2);
    else
      return text;
  }
}

class Scan {
 public:
  Scan(std::vector<std::string> folders, Sha256& hash) : folders_(std::move(folders)), hash_(hash) {}

  // False when something is included whose name is not in the text.
  bool text(std::string_view source, const std::string& own_folder) {
    for (const char* changing : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
      if (source.find(changing) != std::string_view::npos) return false;
    }
    for (size_t at = source.find_first_of("#%_"); at != std::string_view::npos;
         at = source.find_first_of("#%_", at + 1)) {
      std::string_view rest = source.substr(at);
      if (begins(rest, "#") || begins(rest, "%:")) {
        rest = after_blanks(rest.substr(rest[0] == '#' ? 1 : 2));
        if (!begins(rest, "include")) continue;
        rest.remove_prefix(begins(rest, "include_next") ? 12 : 7);
      } else if (begins(rest, "__has_include")) {
        rest = after_blanks(rest.substr(begins(rest, "__has_include_next") ? 18 : 13));
        if (!begins(rest, "(")) continue;  // asks whether the question can be asked
        rest.remove_prefix(1);
      } else {
        continue;
      }
      rest = after_blanks(rest);
      if (rest.empty() || (rest[0] != '"' && rest[0] != '<')) return false;
      const size_t end = rest.find(rest[0] == '"' ? '"' : '>', 1);
      if (end == std::string_view::npos) return false;
      if (!file(std::string(rest.substr(1, end - 1)), rest[0] == '"' ? own_folder : "")) return false;
    }
    return true;
  }

  // Every file of that name, in whichever folder: which one is meant depends on the order, and that is in the options.
  bool file(const std::string& name, const std::string& own_folder) {
    if (name[0] == '/') return one_file(name);
    if (!own_folder.empty() && !one_file(own_folder + "/" + name)) return false;
    for (const std::string& folder : folders_) {
      if (!one_file(folder + "/" + name)) return false;
    }
    return true;
  }

 private:
  bool one_file(const std::string& path) {
    if (!seen_.insert(path).second) return true;
    std::string contents;
    if (!read_file(path, &contents)) return true;  // if it appears one day, it is hashed then
    hash_.field(path);
    hash_.field(contents);
    return text(contents, folder_of(path));
  }

  std::vector<std::string> folders_;
  Sha256& hash_;
  std::set<std::string> seen_;
};

// CUDA's headers are not read one by one: their folder stands for them.
void hash_cuda_headers(const std::string& folder, Sha256& hash) {
  hash.field(folder);
  for (const char* file : {"/cuda_runtime_api.h", "/cuda_fp16.h", "/cuda/std/version"}) {
    struct stat status;
    if (stat((folder + file).c_str(), &status) != 0) continue;
    hash.field(static_cast<uint64_t>(status.st_size));
    hash.field(static_cast<uint64_t>(status.st_mtim.tv_sec));
    hash.field(static_cast<uint64_t>(status.st_mtim.tv_nsec));
  }
}

// The value of an option that is written as `-Ivalue`, `-I value`, `--include-path=value` or as two options.
bool value_of(const std::vector<std::string>& options, size_t* at, std::string_view name, std::string* value) {
  const std::string& option = options[*at];
  if (!begins(option, name)) return false;
  if (option.size() == name.size()) {
    if (*at + 1 < options.size()) *value = options[++*at];
    return true;
  }
  const char next = option[name.size()];
  if (name != "-I" && next != '=' && next != ' ') return false;
  size_t start = name.size();
  while (start < option.size() && (option[start] == '=' || option[start] == ' ')) ++start;
  *value = option.substr(start);
  return true;
}

}  // namespace

bool has_cuda_headers(const std::string& folder) {
  struct stat status;
  return stat((folder + "/cuda_fp16.h").c_str(), &status) == 0 ||
         stat((folder + "/cuda/std/version").c_str(), &status) == 0;
}

bool hash_source(const infinirtXCompileInfo& info, const std::vector<std::string>& options, Sha256& hash) {
  std::vector<std::string> folders, included;
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    for (const char* other_files : {"pch", "options-file", "-optf", "time", "split-compile-"}) {
      if (option[0] == '-' && option.find(other_files) != std::string::npos && !begins(option, "-I") &&
          !begins(option, "-D") && !begins(option, "--include-path") && !begins(option, "--define-macro"))
        return false;
    }
    std::string value;
    if (value_of(options, &i, "-I", &value) || value_of(options, &i, "--include-path", &value)) {
      if (has_cuda_headers(value))
        hash_cuda_headers(value, hash);
      else
        folders.push_back(value);
    } else if (value_of(options, &i, "-include", &value) || value_of(options, &i, "--pre-include", &value)) {
      included.push_back(value);
    }
  }
  const std::string own_folder = folder_of(info.name ? info.name : "");
  Scan scan(std::move(folders), hash);
  for (const std::string& name : included) {
    if (!scan.file(name, own_folder)) return false;
  }
  for (size_t i = 0; i < info.headerCount; ++i) {
    hash.field(info.headerNames[i]);
    hash.field(info.headers[i]);
    if (!scan.text(info.headers[i], own_folder)) return false;
  }
  hash.field(info.source);
  return scan.text(info.source, own_folder);
}

}  // namespace infinirt::nvidia
