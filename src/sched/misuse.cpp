// Messages about misuse that every build detects.
#include "sennit/detail/sched/misuse.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

void report_misuse(const char* text) noexcept {
  const worker* const w = this_worker();
  if (w == nullptr || !w->ready.running()) {
    std::fprintf(stderr, "sennit: a thread %s\n", text);
  } else {
    fiber& self = *w->ready.current;
    const char* const name = fiber_name(self);
    const char* const quote = name[0] != 0 ? "\"" : "";
    std::fprintf(stderr, "sennit: fiber %llu%s%s%s%s %s\n", static_cast<unsigned long long>(fiber_id(self)),
                 name[0] != 0 ? " " : "", quote, name, quote, text);
  }
}

void fatal_misuse(const char* text) noexcept {
  report_misuse(text);
  std::abort();
}

namespace {

constexpr const char* empty_handle =
    " of an empty handle: its fiber was joined or detached before, or the handle was moved from";

}  // namespace

void throw_empty_handle(const char* operation) {
  throw std::system_error(EINVAL, std::generic_category(),
                          std::string("sennit: ") + operation + empty_handle);
}

void fatal_empty_handle(const char* operation) noexcept {
  std::fprintf(stderr, "sennit: %s%s\n", operation, empty_handle);
  std::abort();
}

void fatal_switch(switch_in what) noexcept {
  switch (what) {
    case switch_in::move:
      fatal_misuse(
          "blocks or yields while a value is moved into or out of a channel or a port, whose lock it holds; "
          "move constructors and destructors of such values must not block: send a std::unique_ptr to the "
          "value instead");
    case switch_in::message_size:
      fatal_misuse(
          "blocks or yields in message_size() of a request, while it holds the lock of the port; compute the "
          "size before the call, and keep it in the request");
    case switch_in::completion:
      fatal_misuse(
          "blocks or yields in the completion function of a barrier, whose lock it holds; let one of the "
          "fibers do that after it has arrived");
    case switch_in::state:
      fatal_misuse(
          "blocks or yields while the state of a continuation is moved, after its fiber has left its stack; "
          "move constructors of such states must not block: keep a std::unique_ptr to the value instead");
    case switch_in::function:
      fatal_misuse(
          "blocks or yields while its function is moved to its stack, where it begins; move constructors of "
          "such functions, and of what their captures hold, must not block: capture a std::unique_ptr to the "
          "value instead");
    case switch_in::list:
      fatal_misuse(
          "blocks, yields or stops a scope in a function that a wait_list calls with its lock held; do that "
          "before or after");
  }
  std::abort();
}

void fatal_foreign_unwind() noexcept {
  fatal_misuse(
      "was left by pthread_exit() or by the cancellation of its thread: it would take its worker with it. "
      "Return from the fiber's function, or throw an exception, which a join rethrows");
}

}  // namespace sennit::inline v0_1::detail
