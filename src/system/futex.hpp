// Futexes: words in which threads of this process sleep. Async-signal-safe.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace sennit::inline v0_1::detail {

// With times of 64 bits also on 32-bit CPUs, where the C library has them.
#if defined(SYS_futex_time64)
inline constexpr long waiting_call = sizeof(timespec) > 2 * sizeof(long) ? SYS_futex_time64 : SYS_futex;
#else
inline constexpr long waiting_call = SYS_futex;
#endif

// Sleeps while the word is `expected`, until a time of the steady clock at most, or without a limit if that
// is null. May return early. errno is not preserved.
template <class Word>
void futex_wait(std::atomic<Word>& word, Word expected, const timespec* until = nullptr) noexcept {
  static_assert(sizeof word == 4);
  ::syscall(waiting_call, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, until, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

// Wakes up to `threads` threads that sleep in the word. errno is not preserved.
template <class Word>
void futex_wake(std::atomic<Word>& word, int threads) noexcept {
  static_assert(sizeof word == 4);
  ::syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, threads, nullptr, nullptr, 0);
}

}  // namespace sennit::inline v0_1::detail
