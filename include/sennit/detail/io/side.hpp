// The lock-free parts of a source (source.hpp): the words of its sides, and the word of its operations.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::inline v0_1::detail {

template <class Memory = native_memory>
struct basic_io_side {
  static constexpr std::uintptr_t first = 1;

  typename Memory::template atomic<std::uintptr_t> word{first};
  // Never a word that the driver writes: an attempt is worthwhile.
  typename Memory::template plain<std::uintptr_t> last_seen_event = 0;

  // Before an attempt.
  std::uintptr_t look() const noexcept { return word.load(std::memory_order_acquire); }

  static std::uintptr_t after_event(std::uintptr_t word) noexcept { return word % 2 != 0 ? word + 2 : first; }

  // Records an event, unless it is to be ignored. Returns the former word: the waiter, if even.
  template <class Ignored>
  std::uintptr_t record_event(Ignored ignored) noexcept {
    std::uintptr_t was = word.load(std::memory_order_relaxed);
    while (!ignored(was) && !word.compare_exchange_weak(was, after_event(was), std::memory_order_acq_rel,
                                                        std::memory_order_relaxed)) {
    }
    return was;
  }
};

// The operations on a source, in one word:
//
//   bit 0       closed: no operation begins any more    close()
//   bit 1       the owner is gone                       its destructor
//   bits 2, 3   an operation that reads, one that       io_use
//               writes: one of each at a time
//   bits 4...   the number of other operations          io_use
template <class Memory = native_memory>
class basic_io_uses {
public:
  static constexpr std::uint32_t closed = 1;
  static constexpr std::uint32_t abandoned = 2;
  // What an operation is.
  static constexpr std::uint32_t reading = 4;
  static constexpr std::uint32_t writing = 8;
  static constexpr std::uint32_t other = 16;

  void renew() noexcept { word_.store(0, std::memory_order_relaxed); }
  bool is_closed() const noexcept { return (word_.load(std::memory_order_acquire) & closed) != 0; }

  // Whether the caller's operation (`other`) is the only one left. The others then happened before.
  bool is_only() const noexcept {
    return (word_.load(std::memory_order_acquire) & ~(closed | abandoned)) == other;
  }

  // Begins an operation. Returns 0; -ECANCELED: the source is closed; -EBUSY: another operation has that
  // direction. `shared`: other threads may call this at the same time.
  int begin(std::uint32_t what, bool shared) noexcept {
    const std::uint32_t refuses = closed | (what & (reading | writing));
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    while ((now & refuses) == 0)
      if (change(now, now + what, shared))
        return 0;
    return (now & closed) != 0 ? -ECANCELED : -EBUSY;
  }
  // Begins the operation (`other`) that closes the source, or gives it up. False: it was closed before.
  bool begin_end(std::uint32_t how, bool shared) noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    while (!change(now, (now | how) + other, shared)) {
    }
    return (now & closed) == 0;
  }

  // Ends an operation. False: it has not ended, and may be the last one of a closed source: call end_last().
  bool end(std::uint32_t what, bool shared) noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    return (now & closed) == 0 && change(now, now - what, shared);
  }
  // The last operation closes before it ends, so the source is not given back before. It may close twice.
  template <class Close, class Give>
  void end_last(std::uint32_t what, bool shared, Close close, Give give) noexcept {
    std::uint32_t now = word_.load(std::memory_order_acquire);
    for (;;) {
      const bool last = (now & ~(closed | abandoned)) == what;
      if (last && (now & closed) != 0)
        close();
      if (change(now, now - what, shared)) {
        if (last && (now & abandoned) != 0)
          give();
        return;
      }
    }
  }

private:
  bool change(std::uint32_t& now, std::uint32_t next, bool shared) noexcept {
    if (shared)
      return word_.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_acquire);
    word_.store(next, std::memory_order_relaxed);
    return true;
  }

  typename Memory::template atomic<std::uint32_t> word_{0};
};

}  // namespace sennit::inline v0_1::detail
