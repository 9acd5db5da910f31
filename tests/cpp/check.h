// A test program in one header: TEST registers a function, CHECK records a failure and goes on, REQUIRE leaves the test.
//
//     #include "check.h"
//     TEST(addition_commutes) { CHECK_EQ(1 + 2, 2 + 1); }
//     TEST_MAIN()
//
// The program runs every test, or those whose name contains one of its arguments (or is one of them, written `=name`);
// `--list` prints the names. It prints 'N passed, M failed' last, with the number of skipped tests and parts of tests where
// there are any, and exits with 1 when a test failed, or when the arguments select no test at all (a misspelt filter must
// not look like success). Checks may be made from any thread; they count for the test that is running, so a test joins its
// threads before it returns. REQUIRE and skip throw, and belong on the test's own thread only.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace check {

struct Test {
  const char* name;
  void (*body)();
};

struct Abandon {};
struct Skip {
  std::string reason;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline std::atomic<unsigned long>& failures() {
  static std::atomic<unsigned long> count{0};
  return count;
}

inline int& skipped_parts() {
  static int count = 0;
  return count;
}

// Leaves the test, which then counts as skipped.
[[noreturn]] inline void skip(const std::string& reason) { throw Skip{reason}; }

// The test goes on without a part of it.
inline void skip_part(const std::string& reason) {
  ++skipped_parts();
  std::printf("      skipped a part: %s\n", reason.c_str());
  std::fflush(stdout);
}

inline bool add(const char* name, void (*body)()) {
  tests().push_back({name, body});
  return true;
}

inline void fail(const char* file, int line, const std::string& what) {
  static std::mutex printing;
  constexpr unsigned long kShown = 50;  // a failing loop must not bury the first message
  unsigned long count = ++failures();
  if (count > kShown) return;
  std::lock_guard<std::mutex> guard(printing);
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  if (count == kShown) std::fprintf(stderr, "(further messages suppressed)\n");
}

template <class T>
std::string show(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_enum_v<T>)
    out << static_cast<long long>(value);
  else if constexpr (std::is_same_v<T, bool>)
    out << (value ? "true" : "false");
  else if constexpr (requires { out << value; })
    out << value;
  else
    out << "(value of " << sizeof(T) << " bytes)";
  return out.str();
}

template <class A, class B, class Compare>
bool compare(const A& a, const B& b, Compare holds, const char* file, int line, const char* text) {
  if (holds(a, b)) return true;
  fail(file, line, std::string(text) + " does not hold: " + show(a) + " against " + show(b));
  return false;
}

inline bool selected(const char* name, int argc, char** argv) {
  if (argc < 2) return true;
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] == '=' ? std::strcmp(name, argv[i] + 1) == 0 : std::strstr(name, argv[i]) != nullptr) return true;
  return false;
}

inline int run(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const Test& test : tests()) std::printf("%s\n", test.name);
    return 0;
  }
  int passed = 0, failed = 0, skipped = 0;
  for (const Test& test : tests()) {
    if (!selected(test.name, argc, argv)) continue;
    unsigned long before = failures();
    std::string reason;
    try {
      test.body();
    } catch (const Skip& skip) {
      reason = skip.reason;
    } catch (const Abandon&) {
    } catch (const std::exception& e) {
      fail(test.name, 0, std::string("exception: ") + e.what());
    } catch (...) {
      fail(test.name, 0, "exception of an unknown type");
    }
    bool good = failures() == before;
    if (good && !reason.empty()) {
      ++skipped;
      std::printf("skip  %s: skipped: %s\n", test.name, reason.c_str());
    } else {
      good ? ++passed : ++failed;
      std::printf("%s  %s\n", good ? "ok  " : "FAIL", test.name);
    }
    std::fflush(stdout);
  }
  if (passed + failed + skipped == 0) std::printf("no test selected\n");
  std::printf("%d passed, %d failed", passed, failed);
  if (skipped + skipped_parts() > 0) std::printf(", %d skipped and %d in part", skipped, skipped_parts());
  std::printf("\n");
  return failed == 0 && passed + skipped > 0 ? 0 : 1;
}

}  // namespace check

#define TEST(name)                                                      \
  static void test_##name();                                            \
  static const bool registered_##name = check::add(#name, test_##name); \
  static void test_##name()

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) check::fail(__FILE__, __LINE__, #condition " does not hold"); \
  } while (0)

#define CHECK_COMPARE(a, op, b) \
  check::compare((a), (b), [](const auto& x, const auto& y) { return x op y; }, __FILE__, __LINE__, #a " " #op " " #b)

#define CHECK_EQ(a, b) CHECK_COMPARE(a, ==, b)
#define CHECK_NE(a, b) CHECK_COMPARE(a, !=, b)
#define CHECK_LE(a, b) CHECK_COMPARE(a, <=, b)
#define CHECK_LT(a, b) CHECK_COMPARE(a, <, b)
#define CHECK_GE(a, b) CHECK_COMPARE(a, >=, b)
#define CHECK_GT(a, b) CHECK_COMPARE(a, >, b)

#define REQUIRE(condition)                                                     \
  do {                                                                         \
    if (!(condition)) {                                                        \
      check::fail(__FILE__, __LINE__, #condition " does not hold (required)"); \
      throw check::Abandon{};                                                  \
    }                                                                          \
  } while (0)

#define TEST_MAIN() \
  int main(int argc, char** argv) { return check::run(argc, argv); }
