// Reading a trace's files in tests: a second reader, which knows the layout of core/trace_file.h and nothing else.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "core/trace_file.h"

using infinirt::ChunkHeader;
using infinirt::kChunkBytes;
using infinirt::kTraceHeaderBytes;
using infinirt::RecordKind;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/observe-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    for (const std::string& file : files()) unlink(file.c_str());
    rmdir(path.c_str());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    if (DIR* folder = opendir(path.c_str())) {
      while (const dirent* entry = readdir(folder)) {
        if (entry->d_name[0] != '.') found.push_back(path + "/" + entry->d_name);
      }
      closedir(folder);
    }
    return found;
  }
  std::string path;
};

using Record = std::vector<uint64_t>;

struct Contents {
  std::map<RecordKind, std::vector<Record>> records;
  std::set<uint32_t> threads;
  uint64_t lost = 0;
  std::string header;

  size_t count(RecordKind kind) const {
    const auto found = records.find(kind);
    return found == records.end() ? 0 : found->second.size();
  }
  size_t calls_of(const char* function) const {
    // "function NUMBER NAME ..."
    const size_t at = header.find(std::string(" ") + function + " ");
    if (at == std::string::npos) return 0;
    const size_t line = header.rfind("function ", at) + 9;
    const uint64_t number = std::stoul(header.substr(line));
    size_t n = 0;
    for (const Record& record : records.at(RecordKind::Call)) n += (record[0] >> 16 & 0xffff) == number;
    return n;
  }
  bool has_name(const std::string& name) const {
    const auto found = records.find(RecordKind::Name);
    if (found == records.end()) return false;
    for (const Record& record : found->second) {
      if (std::string(reinterpret_cast<const char*>(&record[3]), record[2]) == name) return true;
    }
    return false;
  }
};

inline Contents read_trace(const std::string& path) {
  Contents contents;
  std::ifstream stream(path, std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (data.size() < kTraceHeaderBytes) return contents;
  std::memcpy(&contents.lost, data.data() + 56, 8);
  contents.header = data.substr(64, kTraceHeaderBytes - 64);
  for (size_t at = kTraceHeaderBytes; at + kChunkBytes <= data.size(); at += kChunkBytes) {
    uint64_t used = 0;
    uint32_t thread = 0;
    std::memcpy(&used, data.data() + at, 8);
    std::memcpy(&thread, data.data() + at + 8, 4);
    contents.threads.insert(thread);
    for (size_t in = sizeof(ChunkHeader); in < used;) {
      uint64_t head = 0;
      std::memcpy(&head, data.data() + at + in, 8);
      const size_t words = head >> 8 & 0xff;
      if (words == 0) break;
      Record record(words);
      std::memcpy(record.data(), data.data() + at + in, words * 8);
      contents.records[static_cast<RecordKind>(head & 0xff)].push_back(std::move(record));
      in += words * 8;
    }
  }
  return contents;
}

inline Contents only_file(const Folder& folder) {
  const auto files = folder.files();
  CHECK_EQ(files.size(), size_t{1});
  return files.empty() ? Contents{} : read_trace(files[0]);
}
