// Runs a function in a child process: for what would end the test, or spoil it for those after it.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "support/sanitizers.hpp"

namespace support {

struct outcome {
  int status = 0;
  std::string said;  // on standard output and error

  bool exited(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
  bool killed_by(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
  bool says(const std::string& text) const { return said.find(text) != std::string::npos; }

  // By the signal; or by a sanitizer that takes it, reports it too, and exits.
  bool ended_by_fault(int signal = SIGSEGV) const {
#if defined(SUPPORT_ASAN)
    return killed_by(signal) || (exited(1) && says("AddressSanitizer"));
#elif defined(SUPPORT_TSAN)
    return killed_by(signal) || (exited(66) && says("ThreadSanitizer"));
#else
    return killed_by(signal);
#endif
  }
};

// What a failing test, and how it ended, looks like.
inline std::ostream& operator<<(std::ostream& out, const outcome& o) {
  if (WIFSIGNALED(o.status))
    out << "killed by signal " << WTERMSIG(o.status);
  else
    out << "exit status " << WEXITSTATUS(o.status);
  return out << ", and said:\n" << o.said.substr(0, 2000);
}

inline constexpr int test_failed = 90;

inline std::string without_lines(const std::string& that_say, const std::string& text) {
  std::istringstream lines(text);
  std::string others;
  for (std::string line; std::getline(lines, line);)
    if (line.find(that_say) == std::string::npos)
      others += lines.eof() ? line : line + '\n';
  return others;
}

// Writes a text to standard error. Signal handlers may call it.
inline void say(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// The child exits with 0 at the function's end, with test_failed if an expectation in it failed.
template <class Function>
outcome in_child(Function&& function) {
  int ends[2];
  if (pipe(ends) != 0)
    std::abort();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(50);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    function();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? test_failed : 0);
  }
  close(ends[1]);
  outcome result;
  char buffer[4096];
  ssize_t count;
  while ((count = read(ends[0], buffer, sizeof buffer)) > 0)
    result.said.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  waitpid(child, &result.status, 0);
  // LeakSanitizer, in a child that exits: it cannot find the threads of its parent, if that had any but main.
  result.said = without_lines("False leaks are possible.", result.said);
  return result;
}

// Whether this program was begun by in_new_program(), for one test.
inline bool is_new_program() {
  return std::getenv("SENNIT_TEST_NEW_PROGRAM") != nullptr;
}

// Runs the calling test once more, as the only test of its own program, where is_new_program(). For decisions
// that a process makes once, and for state that other tests have left in this one. `prepare` is called
// before, in the child.
template <class Prepare>
void in_new_program(Prepare&& prepare) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  const outcome child = in_child([&] {
    prepare();
    if (testing::Test::HasFailure())
      return;
    ::unsetenv("GTEST_OUTPUT");
    ::setenv("SENNIT_TEST_NEW_PROGRAM", "1", 1);
    ::unsetenv("GTEST_TOTAL_SHARDS");
    ::unsetenv("GTEST_SHARD_INDEX");
    ::execl("/proc/self/exe", "test", filter.c_str(), nullptr);
    ADD_FAILURE() << "exec";
  });
  EXPECT_TRUE(child.exited(0) && child.says("1 test from 1 test suite ran")) << child;
  if (child.says("[  SKIPPED ]"))
    GTEST_SKIP() << child;
}

}  // namespace support
