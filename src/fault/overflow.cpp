// The overflow report: see include/sennit/detail/fault/overflow.hpp.
//
// Everything the handler calls is async-signal-safe: the guard that was hit is looked up in a list that only
// grows, the text is put together in a local buffer and written with write(2). Afterwards the fault goes to
// the handler that was installed before ours, or by default happens again and ends the process with a core
// dump that shows the overflowing frame.
#include "sennit/detail/fault/overflow.hpp"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>

#include "sennit/detail/arch/thread.h"
#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/fault/survive.hpp"
#include "sennit/detail/stack/stack.hpp"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace sennit::detail {

namespace {

struct sigaction previous_segv;
struct sigaction previous_bus;

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
  void print() const noexcept { [[maybe_unused]] auto written = ::write(STDERR_FILENO, buffer_, length_); }

private:
  char buffer_[512];
  std::size_t length_ = 0;
};

void report(const stack_place& place, std::uintptr_t fault, std::uintptr_t sp) noexcept {
  const auto high = reinterpret_cast<std::uintptr_t>(place.low) + place.size;
  const std::uintptr_t deepest = sp != 0 ? std::min(sp, fault) : fault;
  message text;
  text << "sennit: stack overflow in " << (place.record ? place.record->kind : "a stack nobody uses") << " ";
  if (place.record != nullptr && place.record->name != nullptr && place.record->name[0] != 0)
    text << "\"" << place.record->name << "\"";
  else
    text << "(unnamed)";
  text << ": its stack has " << place.size << " bytes and is " << high - deepest
       << " bytes deep; give it a larger stack, or less recursion and smaller local variables\n";
  text.print();
}

// `sent`: by kill(), raise() and the like: no instruction faulted.
void hand_on(int signal, siginfo_t* info, void* context, bool sent) noexcept {
  const struct sigaction& previous = signal == SIGSEGV ? previous_segv : previous_bus;
  if (previous.sa_handler == SIG_IGN && sent)
    return;
  if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
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
  const bool sent = info->si_code <= 0;
  if (!sent) {
    fault_escape();
    const auto fault = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const stack_place place = stack_find(fault);
    if (place.found && place.guard)
      report(place, fault, interrupted_stack_pointer(context));
  }
  hand_on(signal, info, context, sent);
}

void install_handler() noexcept {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
  sennit_before_first_switch(fault_watch_thread);
}

// A thread's alternate signal stack, unless it brought one.
struct alternate_stack {
  void* memory = MAP_FAILED;
  std::size_t size = 0;

  alternate_stack() noexcept {
    stack_t current = {};
    if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0)
      return;
    size = std::max<std::size_t>(getauxval(AT_MINSIGSTKSZ), 2048) + 32 * 1024;
    memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return;
    stack_t ours = {};
    ours.ss_sp = memory;
    ours.ss_size = size;
    sigaltstack(&ours, nullptr);
  }

  ~alternate_stack() {
    if (memory == MAP_FAILED)
      return;
    stack_t current = {};
    if (sigaltstack(nullptr, &current) == 0 && current.ss_sp == memory) {
      current.ss_flags = SS_DISABLE;
      sigaltstack(&current, nullptr);
    }
    ::munmap(memory, size);
  }
};

}  // namespace

void fault_watch_thread() noexcept {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  static thread_local alternate_stack mine;
  static_cast<void>(mine);
}

}  // namespace sennit::detail
