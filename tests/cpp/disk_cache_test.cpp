// The cache on disk: what was written is read back, what could have been tampered with is not, and no problem of the
// disk is a problem of the program. With it, SHA-256 against published values.
#include "core/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "check.h"
#include "core/compiled.h"
#include "core/sha256.h"

using infinirt::DiskCache;
using infinirt::Sha256;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    char pattern[] = "/tmp/infinirt-cache-test-XXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return fs::path(path_) / name; }

 private:
  std::string path_;
};

Sha256::Digest key(const std::string& text) { return Sha256::of(text); }

std::string read(const DiskCache& cache, const std::string& name) {
  std::string value = "?";
  return cache.read(key(name), &value) ? value : "(absent)";
}

size_t count(const fs::path& folder) {
  size_t number = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++number;
  return number;
}

fs::path file_of(const fs::path& folder, const std::string& name) { return folder / infinirt::hex(key(name)); }

}  // namespace

TEST(sha256_of_published_examples) {
  CHECK_EQ(infinirt::hex(Sha256::of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK_EQ(infinirt::hex(Sha256::of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_EQ(infinirt::hex(Sha256::of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK_EQ(infinirt::hex(Sha256::of(std::string(1000000, 'a'))),
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(sha256_does_not_depend_on_the_parts) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t part : {1, 3, 55, 56, 63, 64, 65, 200}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += part) hash.update(text.data() + at, std::min(part, text.size() - at));
    CHECK(hash.digest() == Sha256::of(text));
  }
}

TEST(fields_are_told_apart) {
  const auto of = [](const char* a, const char* b) {
    Sha256 hash;
    hash.field(a);
    hash.field(b);
    return hash.digest();
  };
  CHECK(of("ab", "c") != of("a", "bc"));
  CHECK(of("ab", "c") == of("ab", "c"));
}

TEST(what_is_written_is_read) {
  const Folder folder;
  const fs::path place = folder / "a/b/c";
  const DiskCache cache(place.string());
  REQUIRE(cache.is_usable());
  struct stat status;
  REQUIRE(stat(place.c_str(), &status) == 0);
  CHECK_EQ(status.st_mode & 0777, 0700u);
  CHECK_EQ(read(cache, "one"), "(absent)");
  const std::string value("with\0zero", 9);
  cache.write(key("one"), value);
  cache.write(key("empty"), "");
  CHECK_EQ(read(cache, "one"), value);
  CHECK_EQ(read(cache, "empty"), "");
  cache.write(key("one"), "another");
  CHECK_EQ(read(DiskCache(place.string()), "one"), "another");
  CHECK_EQ(count(place), 2u);  // no temporary file is left
}

TEST(a_damaged_entry_is_absent_and_goes) {
  const Folder folder;
  const fs::path place = folder / "cache";
  const DiskCache cache(place.string());
  const std::string value(5000, 'v');
  cache.write(key("whole"), value);
  const std::string whole = [&] {
    std::ifstream file(file_of(place, "whole"), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  const auto damaged = [&](std::string bytes) {
    std::ofstream(file_of(place, "whole"), std::ios::binary) << bytes;
    const bool absent = read(cache, "whole") == "(absent)";
    const bool gone = !fs::exists(file_of(place, "whole"));
    cache.write(key("whole"), value);
    return absent && gone && read(cache, "whole") == value;
  };
  for (size_t at = 0; at < whole.size(); at += 7) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    CHECK(damaged(bytes));
  }
  for (size_t size : {size_t{0}, size_t{10}, size_t{88}, whole.size() - 1}) CHECK(damaged(whole.substr(0, size)));
  CHECK(damaged(whole + "x"));
  // An entry under another one's name.
  fs::copy_file(file_of(place, "whole"), file_of(place, "other"));
  CHECK_EQ(read(cache, "other"), "(absent)");
}

TEST(what_somebody_else_could_write_is_not_used) {
  const Folder folder;
  const fs::path place = folder / "cache";
  {
    const DiskCache cache(place.string());
    cache.write(key("one"), "1");
    cache.write(key("two"), "2");
    chmod(file_of(place, "one").c_str(), 0666);
    fs::remove(file_of(place, "two"));
    fs::create_symlink(file_of(place, "one"), file_of(place, "two"));
    CHECK_EQ(read(cache, "one"), "(absent)");
    CHECK_EQ(read(cache, "two"), "(absent)");
  }
  for (mode_t mode : {0770, 0707, 0777}) {
    chmod(place.c_str(), mode);
    const DiskCache cache(place.string());
    CHECK(!cache.is_usable());
    cache.write(key("three"), "3");
    CHECK_EQ(read(cache, "three"), "(absent)");
  }
  chmod(place.c_str(), 0755);
  CHECK(DiskCache(place.string()).is_usable());
  if (geteuid() == 0) {  // only root can give a folder away
    REQUIRE(chown(place.c_str(), 12345, 12345) == 0);
    CHECK(!DiskCache(place.string()).is_usable());
  }
}

TEST(no_cache_is_no_error) {
  const Folder folder;
  std::ofstream(folder / "file") << "no folder";
  for (const std::string& place : {std::string(), (folder / "file").string(), (folder / "file/below").string(),
                                   std::string("/proc/nowhere/infinirt")}) {
    const DiskCache cache(place);
    CHECK(!cache.is_usable());
    cache.write(key("one"), "1");
    CHECK_EQ(read(cache, "one"), "(absent)");
    cache.trim();
  }
  const DiskCache cache((folder / "small").string(), 10);
  cache.write(key("large"), std::string(11, 'x'));  // alone larger than all may be
  CHECK_EQ(read(cache, "large"), "(absent)");
}

TEST(the_entries_that_were_not_used_for_longest_make_room) {
  const Folder folder;
  const fs::path place = folder / "cache";
  const DiskCache cache(place.string(), 20000);
  for (int i = 0; i < 10; ++i) {
    const std::string name = std::to_string(i);
    cache.write(key(name), std::string(4000, 'x'));
    timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    utimensat(AT_FDCWD, file_of(place, name).c_str(), times, 0);
  }
  CHECK(read(cache, "0") != "(absent)");  // used again: now it is the youngest
  std::ofstream(place / "writing-1-1-1-1") << "abandoned";
  std::ofstream(place / "writing-2-2-2-2") << "under way";
  std::ofstream(place / "README") << "not ours";
  timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  utimensat(AT_FDCWD, (place / "writing-1-1-1-1").c_str(), long_ago, 0);
  cache.trim();
  CHECK(fs::exists(file_of(place, "0")));
  CHECK(fs::exists(file_of(place, "9")));
  CHECK(!fs::exists(file_of(place, "1")));
  CHECK(!fs::exists(place / "writing-1-1-1-1"));
  CHECK(fs::exists(place / "writing-2-2-2-2"));
  CHECK(fs::exists(place / "README"));
  uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(place)) total += entry.file_size();
  CHECK(total <= 20000);
}

TEST(threads_and_processes_share_a_folder) {
  const Folder folder;
  const std::string place = (folder / "cache").string();
  const auto work = [&](int seed) {
    int wrong = 0;
    const DiskCache cache(place, 300000);
    for (int i = 0; i < 200; ++i) {
      const std::string name = std::to_string((i * 7 + seed) % 20);
      const std::string expected(1000 + name.size() * 3000, name[0]);
      std::string value;
      if (cache.read(key(name), &value)) {
        wrong += value != expected;
      } else {
        cache.write(key(name), expected);
      }
      if (i % 50 == 0) cache.trim();
    }
    return wrong;
  };
  const pid_t child = fork();
  if (child == 0) _exit(work(1) == 0 ? 0 : 1);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 2; i < 5; ++i) threads.emplace_back([&, i] { wrong += work(i); });
  for (auto& thread : threads) thread.join();
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
  CHECK_EQ(wrong.load(), 0);
}

TEST(where_the_cache_lies) {
  for (const char* name : {"INFINIRT_CACHE_DIR", "INFINIRT_CACHE_DISABLE", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
  CHECK_EQ(infinirt::cache_folder(), "");
  setenv("HOME", "/somebody", 1);
  CHECK_EQ(infinirt::cache_folder(), "/somebody/.cache/infinirt");
  setenv("XDG_CACHE_HOME", "relative", 1);  // the standard says to ignore that
  CHECK_EQ(infinirt::cache_folder(), "/somebody/.cache/infinirt");
  setenv("XDG_CACHE_HOME", "/elsewhere", 1);
  CHECK_EQ(infinirt::cache_folder(), "/elsewhere/infinirt");
  setenv("INFINIRT_CACHE_DIR", "/mine", 1);
  CHECK_EQ(infinirt::cache_folder(), "/mine");
  setenv("INFINIRT_CACHE_DISABLE", "0", 1);
  CHECK_EQ(infinirt::cache_folder(), "/mine");
  setenv("INFINIRT_CACHE_DISABLE", "1", 1);
  CHECK_EQ(infinirt::cache_folder(), "");
}

TEST(a_result_survives_the_way_to_disk) {
  infinirt::Compiled compiled, back;
  compiled.code = std::string("\0code", 5);
  compiled.log = "a warning";
  compiled.lowered_names = {{"f<int>", "_Z1fIiEvv"}, {"g", "g"}};
  const std::string bytes = to_bytes(compiled);
  REQUIRE(from_bytes(bytes, &back));
  CHECK(back.code == compiled.code && back.log == compiled.log && back.lowered_names == compiled.lowered_names);
  CHECK(!from_bytes(bytes.substr(0, bytes.size() - 1), &back));
  CHECK(!from_bytes("", &back));
}

TEST_MAIN()
