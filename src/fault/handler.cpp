// The handler of the fault signals: see include/sennit/detail/fault/handler.hpp.
//
// Everything it calls is async-signal-safe: the stack is looked up in a list that only grows, the text is put
// together in a local buffer and written with write(2). Afterwards the fault goes to the handler that was
// installed before ours, or by default happens again and ends the process with a core dump that shows the
// frame that faulted.
#include "sennit/detail/fault/handler.hpp"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "sennit/detail/arch/thread.h"
#include "sennit/detail/arch/thread_end.hpp"
#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/fault/hook.hpp"
#include "sennit/detail/fault/poll_page.hpp"
#include "sennit/detail/fault/survive.hpp"
#include "sennit/detail/stack/stack.hpp"
#include "stack/title.hpp"
#include "write_message.hpp"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace sennit::inline v0_1::detail {

namespace {

struct fault_signal {
  int number;
  const char* text;
  struct sigaction previous;      // what was installed before ours
  std::atomic<bool> over{false};  // the process is to end by it
};

fault_signal signals[] = {{SIGSEGV, "memory fault (SIGSEGV)", {}},
                          {SIGBUS, "bus error (SIGBUS)", {}},
                          {SIGILL, "illegal instruction (SIGILL)", {}},
                          {SIGFPE, "arithmetic fault (SIGFPE)", {}}};

fault_signal& signal_of(int number) noexcept {
  return *std::ranges::find(signals, number, &fault_signal::number);
}

struct hexadecimal {
  std::uintptr_t value;
};

class message {
public:
  message& operator<<(std::string_view text) noexcept {
    const std::size_t count = std::min(sizeof(buffer_) - length_, text.size());
    std::memcpy(buffer_ + length_, text.data(), count);
    length_ += count;
    return *this;
  }
  message& operator<<(std::size_t number) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  message& operator<<(const stack_title& of) noexcept {
    return *this << of.kind << of.before << of.name << of.after;
  }
  message& operator<<(hexadecimal number) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number.value, 16).ptr;
    return *this << "0x" << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  void print() const noexcept { write_message(STDERR_FILENO, {buffer_, length_}); }

private:
  char buffer_[512];
  std::size_t length_ = 0;
};

// An oversized frame takes most of the depth, and its function does not recurse.
bool is_oversized(const interrupted_frame& frame, std::size_t size, std::size_t depth) noexcept {
  return !frame.recursive && size >= page_size && size >= depth / 2;
}

void report_overflow(const fault_location& at, std::uintptr_t fault, std::uintptr_t sp,
                     const char* refused) noexcept {
  const stack_place& stack = at.stack;
  const auto low = reinterpret_cast<std::uintptr_t>(stack.low);
  const auto high = low + stack.size;
  const std::uintptr_t deepest = std::min(sp != 0 && sp < high ? sp : high, fault < low ? fault : low);
  message text;
  text << "sennit: stack overflow in " << stack_title_of(stack.record) << refused << ": its stack has "
       << stack.size << " bytes and is " << high - deepest << " bytes deep; ";
  const std::size_t size = at.frame.end > deepest ? at.frame.end - deepest : 0;
  if (is_oversized(at.frame, size, high - deepest))
    text << "the frame of the function at " << hexadecimal{at.frame.function} << " takes at least " << size
         << " bytes: make its local variables smaller, call it by sennit::on_large_stack(), or give it a "
            "larger stack";
  else if (at.frame.recursive)
    text << "the function at " << hexadecimal{at.frame.function}
         << " recurses: give it a larger stack, or less recursion and smaller local variables";
  else
    text << "give it a larger stack, or less recursion and smaller local variables";
  const auto running = fault_running_fiber.load(std::memory_order_relaxed);
  if (const stack_record* const fiber = running != nullptr ? running() : nullptr;
      fiber != nullptr && fiber != stack.record)
    text << "; it was run by " << stack_title_of(fiber);
  text << "\n";
  text.print();
}

// No other handler reports it: the process ends.
bool is_end(const fault_signal& signal) noexcept {
  return signal.previous.sa_handler == SIG_DFL || signal.previous.sa_handler == SIG_IGN;
}

void report_end(const fault_signal& signal, const siginfo_t& info, const stack_record& of,
                const char* refused) noexcept {
  message text;
  text << "sennit: " << signal.text << " at " << hexadecimal{reinterpret_cast<std::uintptr_t>(info.si_addr)}
       << " in " << stack_title_of(&of) << refused << "\n";
  text.print();
}

// `sent`: by kill(), raise() and the like: no instruction faulted.
void hand_on(int signal, siginfo_t* info, void* context, bool sent) noexcept {
  struct sigaction& installed = signal_of(signal).previous;
  const struct sigaction previous = installed;
  if ((previous.sa_flags & SA_RESETHAND) != 0 && previous.sa_handler != SIG_IGN) {
    installed.sa_handler = SIG_DFL;  // as the kernel would have
    installed.sa_flags = 0;
  }
  if (previous.sa_handler == SIG_IGN && sent)
    return;
  if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    signal_of(signal).over.store(true, std::memory_order_seq_cst);
    ::signal(signal, SIG_DFL);  // the instruction faults again and ends the process
    if (sent)
      ::raise(signal);  // comes when we return
  } else if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else {
    previous.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) noexcept {
  // BUS_MCEERR_AO: memory that is broken somewhere, not where anybody touched it.
  const bool sent = info->si_code <= 0 || (signal == SIGBUS && info->si_code == BUS_MCEERR_AO);
  if (!sent) {
    if (signal == SIGSEGV && poll_page_fault(info->si_addr, context))
      return;
    fault_escape();
    const auto fault = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const bool end = is_end(signal_of(signal));
    const fault_location at = fault_locate(signal == SIGSEGV || signal == SIGBUS ? fault : 0, context, end);
    const char* refused = "";
    if (fault_redirect(signal, info->si_addr, at.stack, context, refused))
      return;
    if (end)
      stack_report_if_overrun();  // first: even the name of the overrun fiber may be destroyed
    if (at.stack.guard)
      report_overflow(at, fault, interrupted_stack_pointer(context), refused);
    else if (end && at.stack.record != nullptr)
      report_end(signal_of(signal), *info, *at.stack.record, refused);
  }
  hand_on(signal, info, context, sent);
}

// Remembers the former handler, unless it is ours. In the child of a fork that happened while another thread
// was here, it is called again.
void install(fault_signal& of) noexcept {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  struct sigaction before = {};
  sigaction(of.number, &action, &before);
  if ((before.sa_flags & SA_SIGINFO) == 0 || before.sa_sigaction != on_fault)
    of.previous = before;
}

void watch_switching_thread() noexcept {
  if (fault_watch_thread() == 0)
    return;
  message text;
  text << "sennit: no alternate signal stack for a thread that switches: a stack overflow there ends the "
          "program "
          "without a report; free some memory, or make a stack on that thread first\n";
  text.print();
}

void install_handler() noexcept {
  for (fault_signal& each : signals)
    install(each);
  sennit_before_first_switch(watch_switching_thread);
}

// A fork copies the handlers before it copies the memory. So the child's memory may list handlers that
// another thread installed in between, and that the child lacks. Handlers of others are left as they are.
void install_what_is_missing() noexcept {
  for (fault_signal& each : signals) {
    struct sigaction now = {};
    if (sigaction(each.number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL &&
        !each.over.load(std::memory_order_seq_cst))
      install(each);
  }
}

// A thread's alternate signal stack, unless it brought one.
struct alternate_stack {
  void* memory = nullptr;  // null: none of ours
  std::size_t size = 0;
  bool ready = false;
};
constinit thread_local alternate_stack of_thread;

void drop(alternate_stack& it) noexcept {
  if (it.memory == nullptr)
    return;
  stack_t current = {};
  if (sigaltstack(nullptr, &current) == 0 && current.ss_sp == it.memory) {
    current.ss_flags = SS_DISABLE;
    sigaltstack(&current, nullptr);
  }
  ::munmap(std::exchange(it.memory, nullptr), it.size);
}

constinit thread_end stack_end([](void* it) { drop(*static_cast<alternate_stack*>(it)); });

// Returns an errno, or 0.
int make(alternate_stack& it) noexcept {
  stack_t current = {};
  if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0)
    return 0;
  if (const int error = stack_end.arm(&it); error != 0)
    return error;
  it.size = std::max<std::size_t>(getauxval(AT_MINSIGSTKSZ), 2048) + 32 * 1024;
  void* const memory = ::mmap(nullptr, it.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return errno;
  stack_t ours = {};
  ours.ss_sp = memory;
  ours.ss_size = it.size;
  if (sigaltstack(&ours, nullptr) != 0) {
    const int error = errno;
    ::munmap(memory, it.size);
    return error;
  }
  it.memory = memory;
  return 0;
}

}  // namespace

int fault_watch_thread() noexcept {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  if (of_thread.ready)
    return 0;
  install_what_is_missing();
  const int error = make(of_thread);
  of_thread.ready = error == 0;
  return error;
}

void fault_must_watch_thread() {
  if (const int error = fault_watch_thread(); error != 0)
    throw std::system_error(
        error, std::generic_category(),
        "sennit: no alternate signal stack for this thread, on which faults and stack overflows "
        "are reported; free some memory, or run fewer threads");
}

}  // namespace sennit::inline v0_1::detail
