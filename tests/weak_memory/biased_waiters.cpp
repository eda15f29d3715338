// A wait queue's lock that is biased towards the worker of the first thread. One thread at a time is inside.
// NUMBERS are those of the threads' workers, FIRST and SECOND what they do.
//
// header: include/sennit/detail/sync/bias.hpp
// survives: word_.store(unbiased, std::memory_order_release); -> relaxed
// survives: number seen() const noexcept { return word_.load(std::memory_order_acquire); } -> relaxed
// scene owner and thread: -DNUMBERS=1,0 -DFIRST=lock -DSECOND=lock
// scene owner is quick: -DNUMBERS=1,0 -DFIRST=quick -DSECOND=lock
// scene owner twice: -DNUMBERS=1,2 -DFIRST=twice -DSECOND=lock
// scene quick worker: -DNUMBERS=1,2 -DFIRST=lock -DSECOND=quick
// scene undecided: -DNUMBERS=1,2 -DFIRST=lock -DSECOND=lock -DUNDECIDED
#include "sennit/detail/sync/biased_waiters.hpp"

#include "weak.hpp"

constexpr std::uintptr_t numbers[] = {1, NUMBERS};
thread_local std::uintptr_t number = 0;
struct modelled_worker {
  static std::uintptr_t number() noexcept { return ::number; }
};
using waiters = sennit::detail::basic_biased_waiters<weak::memory, modelled_worker>;
constexpr sennit::wait_options biased{.bias = true};
int inside = 0;

constinit waiters shared{biased};

void lock() {
  const waiters::state now = shared.lock();
  ++inside;
  shared.unlock(now + 1, true);
}
void quick() {
  if (!shared.change_quickly(0, 1, std::memory_order_acq_rel))
    lock();
}
void twice() {
  lock();
  lock();
}

template <unsigned Number>
void use() {
  number = numbers[Number];
  if constexpr (Number == 1)
    FIRST();
  else
    SECOND();
}

int main() {
#if !defined(UNDECIDED)
  number = 1;
  shared.unlock(shared.lock(), false);
#endif
  weak::run(use<1>, use<2>);
  const waiters::state now = shared.peek(std::memory_order_relaxed);
  assert(static_cast<int>(now) >= inside && now >= 2 && now <= 3);
}
