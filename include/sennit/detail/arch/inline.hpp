#pragma once

// For functions that must be inlined in optimized builds, whatever the compiler's own heuristics decide: a
// switch at the price of a call must not itself be a call. Otherwise this is an ordinary inline function,
// into which a debugger can step. (Inlined there, too, a function that spawns took 45 KB, and programs took
// 1.5 times as long to compile.) A function that must be inlined for other reasons has the attribute itself.
#if defined(__OPTIMIZE__)
#define SENNIT_INLINE [[gnu::always_inline]] inline
#else
#define SENNIT_INLINE inline
#endif

namespace sennit::inline v0_1::detail {

// A store that compilers keep in order with its neighbours. The L1 cache takes two stores in a cycle if they
// follow each other and are to the same line, otherwise one; a wait, a wake and a switch make some thirty. So
// on the path of every switch, stores to one line are adjacent. (It also keeps gcc from merging two
// neighbours into a vector store, whose data cannot be loaded for 7 cycles.)
template <class T, class Value>
SENNIT_INLINE void store_in_order(T& to, Value value) noexcept {
  const_cast<volatile T&>(to) = value;
}

}  // namespace sennit::inline v0_1::detail
