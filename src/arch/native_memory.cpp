// Fences that cost only one side: membarrier(2).
#include "sennit/detail/arch/native_memory.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace sennit::inline v0_1::detail {

namespace {

bool membarrier(int command) noexcept {
  const int before = errno;
  const bool done = ::syscall(SYS_membarrier, command, 0, 0) == 0;
  errno = before;
  return done;
}

}  // namespace

constinit std::atomic<native_memory::fences> native_memory::kind_{fences::undecided};

// A filter may let the one through and not the other.
bool native_memory::ask_for_membarrier() noexcept {
#if defined(SENNIT_FENCES_UNSEEN)
  return false;
#else
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
         membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
#endif
}

// No lock: a child that was forked meanwhile asks for itself.
bool native_memory::prepare() noexcept {
  fences kind = kind_.load(std::memory_order_acquire);
  if (kind == fences::undecided) {
    const fences mine = ask_for_membarrier() ? fences::by_membarrier : fences::full;
    if (kind_.compare_exchange_strong(kind, mine, std::memory_order_acq_rel, std::memory_order_acquire))
      kind = mine;
  }
  return kind == fences::by_membarrier;
}

void native_memory::heavy_fence() noexcept {
  if (kind_.load(std::memory_order_relaxed) != fences::by_membarrier)
    return full_fence();
  if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) [[unlikely]] {
    // Others count on it already.
    std::fputs(
        "sennit: membarrier(2) is refused, and was not when the first runtime was made; a seccomp filter "
        "that "
        "refuses it must be installed before that\n",
        stderr);
    std::abort();
  }
}

}  // namespace sennit::inline v0_1::detail
