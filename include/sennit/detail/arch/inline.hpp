#pragma once

// For what must be inlined where the compiler optimizes, whatever it thinks: a switch at the price of a call
// is one that is not called. Where it does not, this is an ordinary inline function, which a debugger can
// step into. (Inlined there, too, a function that spawns was 45 KB, and programs took one and a half times as
// long to compile.) What must be inlined for another reason than its price has the attribute itself.
#if defined(__OPTIMIZE__)
#define SENNIT_INLINE [[gnu::always_inline]] inline
#else
#define SENNIT_INLINE inline
#endif

namespace sennit::detail {

// A store that compilers leave in its turn among its like. The first cache takes two stores in a cycle if
// they follow each other and are to the same line, else one; a wait, a wake and a switch are some thirty. So
// on the way of every switch those to one line stand next to each other. (Nor does gcc make one store of a
// vector out of two neighbours, which takes 7 cycles until somebody can load it.)
template <class T, class Value>
SENNIT_INLINE void store_in_turn(T& to, Value value) noexcept {
  const_cast<volatile T&>(to) = value;
}

}  // namespace sennit::detail
