// On a portable backend backtraces end where the context began.
#include "sennit/detail/arch/context.h"

#if defined(SENNIT_BACKEND_PORTABLE)
#include <gtest/gtest.h>
#include <unwind.h>

#include "support/stack.hpp"

namespace {

struct frames_seen {
  int frames = 0;
  bool left_the_stack = false;
  const support::stack* stack = nullptr;
  _Unwind_Reason_Code end = _URC_NO_REASON;
};

_Unwind_Reason_Code see_frame(_Unwind_Context* frame, void* argument) {
  auto& t = *static_cast<frames_seen*>(argument);
  if (_Unwind_GetIP(frame) == 0)
    return _URC_NO_REASON;  // what follows the outermost frame
  ++t.frames;
  // A frame's canonical address lies at its caller's end: that of the first frame of all may be the top.
  const auto sp = reinterpret_cast<void*>(_Unwind_GetCFA(frame) - 1);
  t.left_the_stack = t.left_the_stack || !t.stack->contains(sp);
  return t.frames < 100 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void take_traces(sennit_context from, uintptr_t place, uintptr_t, uintptr_t, uintptr_t) {
  auto* t = reinterpret_cast<frames_seen*>(place);
  for (;;) {
    t->end = _Unwind_Backtrace(see_frame, t);
    const sennit_transfer in = sennit_swapstack(from, 0);
    from = in.from;
    t = reinterpret_cast<frames_seen*>(in.value);
  }
}

TEST(PortableBacktrace, EndsWhereTheContextBegan) {
  support::stack s;
  sennit_context c = sennit_newstack(s.top(), take_traces);
  for (int i = 0; i < 3; ++i) {
    frames_seen t;
    t.stack = &s;
    c = sennit_swapstack(c, reinterpret_cast<uintptr_t>(&t)).from;
    EXPECT_GE(t.frames, 1);
    EXPECT_LE(t.frames, 4);
#if defined(__ARM_EABI_UNWINDER__)
    EXPECT_NE(t.end, _URC_NO_REASON);  // it has another code, and another idea of a frame's address
#else
    EXPECT_FALSE(t.left_the_stack);
    // PowerPC's has a code of its own for a frame that has nowhere to return to.
    EXPECT_TRUE(t.end == _URC_END_OF_STACK || t.end == _URC_NORMAL_STOP) << t.end;
#endif
  }
}

}  // namespace
#endif
