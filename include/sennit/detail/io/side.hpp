// What is lock-free of a source (source.hpp says what for): its sides' words, and the count of operations.
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::detail {

template <class Memory = native_memory>
struct basic_io_side {
  static constexpr std::uintptr_t first = 1;

  typename Memory::template atomic<std::uintptr_t> word{first};
  // Never a word that the driver writes: an attempt is worthwhile.
  typename Memory::template plain<std::uintptr_t> seen = 0;

  // Before an attempt.
  std::uintptr_t look() const noexcept { return word.load(std::memory_order_acquire); }

  static std::uintptr_t after_event(std::uintptr_t word) noexcept { return word % 2 != 0 ? word + 2 : first; }

  // An event. Returns what the word was: who waited, if even. Not if that is to be ignored.
  template <class Ignored>
  std::uintptr_t tell(Ignored ignored) noexcept {
    std::uintptr_t was = word.load(std::memory_order_relaxed);
    while (!ignored(was) && !word.compare_exchange_weak(was, after_event(was), std::memory_order_acq_rel,
                                                        std::memory_order_relaxed)) {
    }
    return was;
  }
};

template <class Memory = native_memory>
class basic_io_uses {
public:
  static constexpr std::uint32_t closed = 1;
  static constexpr std::uint32_t abandoned = 2;
  static constexpr std::uint32_t one = 4;

  void renew() noexcept { word_.store(0, std::memory_order_relaxed); }
  bool is_closed() const noexcept { return (word_.load(std::memory_order_acquire) & closed) != 0; }

  // Begins an operation. False: it is closed. `shared`: others may do so at the same time.
  bool begin(bool shared) noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    while ((now & closed) == 0)
      if (change(now, now + one, shared))
        return true;
    return false;
  }
  // Begins that which closes it, or gives it up. False: it was closed before.
  bool begin_end(std::uint32_t how, bool shared) noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    while (!change(now, (now | how) + one, shared)) {
    }
    return (now & closed) == 0;
  }

  // Ends an operation. False: it goes on, it may be the last of one that is closed. Then call end_last().
  bool end(bool shared) noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    return (now & closed) == 0 && change(now, now - one, shared);
  }
  // The last one closes while it is still counted: nobody can give the source back before. It may close
  // twice.
  template <class Close, class Give>
  void end_last(bool shared, Close close, Give give) noexcept {
    std::uint32_t now = word_.load(std::memory_order_acquire);
    for (;;) {
      const bool last = now / one == 1;
      if (last && (now & closed) != 0)
        close();
      if (change(now, now - one, shared)) {
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

}  // namespace sennit::detail
