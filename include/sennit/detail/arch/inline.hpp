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
