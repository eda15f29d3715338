// Injected failures: which call fails, what an operation reports, and the list of operations.
//
// The program defines malloc, mmap, epoll_create1 and the other functions of `call_kind` itself
// (interpose.cpp). An operation is a function that sets something up, calls `attempt` for the part that is
// tested, and cleans up. Each try runs one operation in a forked child, where one call of one kind fails
// during the attempt, or that call and all later ones. After it the same operation must succeed, and a smoke
// test must pass (main.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <vector>

namespace injection {

enum class call_kind {
  memory,
  map,
  protect,
  advise,
  create_thread,
  thread_key,
  epoll_create,
  epoll_control,
  epoll_wait,
  event,
  timer,
  alternate_stack,
  signal_action,
  socket,
  connect,
  bind,
  listen,
  accept,
  pipe,
  open,
};
inline constexpr std::size_t call_kinds = 20;
struct kind_text {
  std::string_view name;
  int error;  // what the call fails with
};
extern const std::array<kind_text, call_kinds> kind_texts;

enum class outcome { unfinished, succeeded, out_of_memory, system_error, other_exception };

// One try and its findings. Shared by the child and its parent.
struct trial {
  int kind = -1;    // what fails; -1: nothing
  long first = 0;   // the first call that fails, from 1
  bool on = false;  // and all later ones
  std::atomic<bool> armed{false};
  std::atomic<bool> exempt{false};  // planted faults only: leave out the cleanup
  std::array<std::atomic<long>, call_kinds> calls{};
  std::atomic<long> injected{0};
  std::atomic<outcome> result{outcome::unfinished};
  std::atomic<int> code{0};
};
extern trial* current;

// What the process has: blocks of malloc, bytes of mmap, file descriptors, threads.
struct balance {
  long blocks = 0;
  long mapped = 0;
  long descriptors = 0;
  long threads = 0;
};
balance balance_now() noexcept;

inline void note(outcome result, int code = 0) noexcept {
  current->armed = false;
  current->code = code;
  current->result = result;
}

// Calls `function` while calls fail, and records how it ended. Returns true if it succeeded.
template <class Function>
bool attempt(Function function) {
  current->armed = true;
  try {
    function();
  } catch (const std::bad_alloc&) {
    note(outcome::out_of_memory);
    return false;
  } catch (const std::system_error& error) {
    note(outcome::system_error, error.code().value());
    return false;
  } catch (const std::exception&) {
    note(outcome::other_exception);
    return false;
  }
  note(outcome::succeeded);
  return true;
}

// The same for a function of the C API: it returns a negative errno when it fails.
template <class Function>
bool attempt_c(Function function) {
  current->armed = true;
  const long result = function();
  if (result < 0)
    note(outcome::system_error, static_cast<int>(-result));
  else
    note(outcome::succeeded);
  return result >= 0;
}

inline void must(bool holds) {
  if (!holds)
    std::abort();
}

struct operation {
  std::string_view name;
  void (*run)();
};
void add_operations(std::vector<operation>& all);
void add_fiber_operations(std::vector<operation>& all);
void add_io_operations(std::vector<operation>& all);
void add_c_operations(std::vector<operation>& all);
// Operations with a bug each, which the program must report.
extern const std::array<operation, 4> planted;

// Runs fibers, a channel and a connection on both runtimes. Throws, or ends the process, if they do not work.
void smoke();

}  // namespace injection
