// Counts the system calls of threads, by seccomp: each one traps, and the handler of SIGSYS counts it and
// makes it from an instruction that the filter knows. For one source of a program, and for children: a filter
// stays for good. A counted thread must not end: what ends a thread calls with signals blocked, which kills.
#pragma once

#if defined(__x86_64__)
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "support/seccomp.hpp"

// As syscall(), but what the kernel returns.
asm(R"(
        .pushsection .text
support_make_call:
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        movq    %rcx, %rdx
        movq    %r8, %r10
        movq    %r9, %r8
        movq    8(%rsp), %r9
        syscall
support_call_made:
        ret
        .popsection
)");
extern "C" {
[[gnu::visibility("hidden")]] long support_make_call(long number, long, long, long, long, long, long);
[[gnu::visibility("hidden")]] extern const char support_call_made[];
}

namespace support {

// While one lives, the calls of counted threads are counted. One at a time.
class counted_calls {
public:
  counted_calls() {
    for (auto& each : numbers_)
      each = 0;
    counting_ = true;
  }
  counted_calls(const counted_calls&) = delete;
  counted_calls& operator=(const counted_calls&) = delete;
  ~counted_calls() { stop(); }

  void stop() { counting_ = false; }

  long of(long number) const { return numbers_[static_cast<std::size_t>(number)]; }
  // "write: call 1, 3 times"; empty: none.
  std::string all_but(long but = -1) const {
    std::string text;
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (numbers_[i] != 0 && static_cast<long>(i) != but)
        text += "call " + std::to_string(i) + ": " + std::to_string(numbers_[i]) + " times\n";
    return text;
  }

  // From now on the calling thread is counted. False: no seccomp here.
  static bool begin_on_this_thread() {
    struct sigaction action{};
    action.sa_sigaction = count;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    const auto made = reinterpret_cast<std::uintptr_t>(support_call_made);
    constexpr auto address = offsetof(seccomp_data, instruction_pointer);
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 4, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, address),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(made), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, address + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(made >> 32), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    return ::sigaction(SIGSYS, &action, nullptr) == 0 && install_filter(program);
  }

private:
  static void count(int, siginfo_t* info, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto number = static_cast<std::size_t>(info->si_syscall);
    if (counting_)
      ++numbers_[number < numbers_.size() ? number : 0];
    registers[REG_RAX] =
        support_make_call(info->si_syscall, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                          registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  }

  static inline std::atomic<bool> counting_{false};
  static inline std::array<std::atomic<long>, 512> numbers_{};
};

}  // namespace support
#endif
