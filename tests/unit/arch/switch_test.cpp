// The verbs of the switch: words both ways, first entry, many contexts, deep stacks, floating point.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "sennit/detail/arch/context.h"
#include "support/stack.hpp"

namespace {

using support::stack;

constexpr int half = 4 * sizeof(uintptr_t);  // of a word's bits

// Answers each word by 3 * word + 1, for ever.
void triple(sennit_context from, uintptr_t value, uintptr_t, uintptr_t, uintptr_t) {
  for (;;) {
    const sennit_transfer in = sennit_swapstack(from, 3 * value + 1);
    from = in.from;
    value = in.value;
  }
}

void triple_by_call(sennit_context from, uintptr_t value, uintptr_t, uintptr_t, uintptr_t) {
  for (;;) {
    const sennit_transfer in = sennit_swapstack_call(from, 3 * value + 1);
    from = in.from;
    value = in.value;
  }
}

void triple_raw(sennit_context from, uintptr_t value, uintptr_t, uintptr_t, uintptr_t) {
  for (;;) {
    const sennit_transfer in = sennit_swapstack_raw(from, 3 * value + 1);
    from = in.from;
    value = in.value;
  }
}

using swap_function = sennit_transfer (*)(sennit_context, uintptr_t);

sennit_transfer by_inline(sennit_context c, uintptr_t v) {
  return sennit_swapstack(c, v);
}
sennit_transfer by_call(sennit_context c, uintptr_t v) {
  return sennit_swapstack_call(c, v);
}
sennit_transfer by_raw(sennit_context c, uintptr_t v) {
  return sennit_swapstack_raw(c, v);
}

TEST(Switch, PassesWordsBothWaysInEveryPairOfForms) {
  for (sennit_entry entry : {triple, triple_by_call, triple_raw}) {
    for (swap_function swap : {by_inline, by_call, by_raw}) {
      stack s;
      sennit_context c = sennit_newstack(s.top(), entry);
      for (uintptr_t i = 0; i < 1000; ++i) {
        const uintptr_t value = i + (i << half);
        const sennit_transfer out = swap(c, value);
        ASSERT_EQ(out.value, 3 * value + 1);
        ASSERT_NE(out.from, nullptr);
        c = out.from;
      }
    }
  }
}

// All forms in turn resume one context.
TEST(Switch, FormsResumeEachOther) {
  stack inner_stack;
  stack call_stack;
  sennit_context inner = sennit_newstack(inner_stack.top(), triple);
  sennit_context call = sennit_newstack(call_stack.top(), triple_by_call);
  const swap_function forms[] = {by_inline, by_call, by_raw};
  for (uintptr_t i = 0; i < 300; ++i) {
    sennit_transfer out = forms[i % 3](inner, i);
    ASSERT_EQ(out.value, 3 * i + 1);
    inner = out.from;
    out = forms[(i / 3) % 3](call, i);
    ASSERT_EQ(out.value, 3 * i + 1);
    call = out.from;
    out = sennit_swapstack(call, i);
    ASSERT_EQ(out.value, 3 * i + 1);
    call = out.from;
  }
}

struct first_entry {
  sennit_context from;
  uintptr_t value[4];
  uintptr_t frame;
};

void record_first_entry(sennit_context from, uintptr_t v0, uintptr_t v1, uintptr_t v2, uintptr_t v3) {
  first_entry seen = {from, {v0, v1, v2, v3}, reinterpret_cast<uintptr_t>(__builtin_frame_address(0))};
  // Vector stores with alignment fault here when the stack was not aligned as the ABI says.
  alignas(16) volatile char aligned[16] = {};
  EXPECT_EQ(reinterpret_cast<uintptr_t>(&aligned) % 16, 0u);
  sennit_swapstack(from, reinterpret_cast<uintptr_t>(&seen));
  FAIL();
}

TEST(Switch, FirstEntryGetsItsArgumentsOnAnAlignedStack) {
  for (bool linked : {false, true}) {
    stack s;
    sennit_context c = linked ? sennit_newlinked(static_cast<sennit_context*>(s.top()), record_first_entry)
                              : sennit_newstack(s.top(), record_first_entry);
    const sennit_transfer4 out = sennit_swapstack4(c, 11, 22, ~uintptr_t{0}, 44);
    const auto& seen = *reinterpret_cast<first_entry*>(out.value[0]);
    EXPECT_NE(seen.from, nullptr);
    EXPECT_EQ(seen.value[0], 11u);
    EXPECT_EQ(seen.value[1], 22u);
    EXPECT_EQ(seen.value[2], ~uintptr_t{0});
    EXPECT_EQ(seen.value[3], 44u);
    // With a frame pointer kept, a frame's address is aligned as the ABI aligns stacks: to 8 on ARM 32
    // (AAPCS), to 16 elsewhere.
#if defined(__arm__)
    EXPECT_EQ(seen.frame % 8, 0u);
#elif !defined(__mips__) || \
    !defined(SENNIT_BACKEND_SIGNALSTACK)  // qemu-user aligns a signal's frame to 8 there
    EXPECT_EQ(seen.frame % 16, 0u);
#endif
    EXPECT_TRUE(s.contains(reinterpret_cast<void*>(seen.frame)));
    EXPECT_TRUE(s.contains(out.from));
  }
}

#if defined(__x86_64__) && !defined(SENNIT_BACKEND_PORTABLE)
uintptr_t stack_pointer_at_entry;

extern "C" void sennit_test_naked_entry();
// The stack pointer at the very first instruction: the return address lies there, 8 below an aligned address.
__asm__(
    ".text\n.globl sennit_test_naked_entry\nsennit_test_naked_entry:\n\t"
    "endbr64\n\t"
    "movq %rsp, %rsi\n\t"
    "movq %rdi, %rax\n\t"
    "jmp sennit_test_after_entry\n");
extern "C" [[gnu::used]] void sennit_test_after_entry(sennit_context from, uintptr_t sp) {
  stack_pointer_at_entry = sp;
  sennit_swapstack(from, 0);
}

TEST(Switch, StackPointerAtEntryIsThatOfACall) {
  stack s;
  sennit_context c = sennit_newstack(s.top(), reinterpret_cast<sennit_entry>(sennit_test_naked_entry));
  sennit_swapstack(c, 0);
  EXPECT_EQ(stack_pointer_at_entry, reinterpret_cast<uintptr_t>(s.top()) - 8);
}
#endif

void sum_of_four(sennit_context from, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {
  for (;;) {
    const sennit_transfer4 in = sennit_swapstack4(from, a + 1, b + 2, c + 3, a + b + c + d);
    from = in.from;
    a = in.value[0];
    b = in.value[1];
    c = in.value[2];
    d = in.value[3];
  }
}

TEST(Switch, FourWordsBothWays) {
  stack s;
  sennit_context c = sennit_newstack(s.top(), sum_of_four);
  for (uintptr_t i = 0; i < 1000; ++i) {
    const sennit_transfer4 out = sennit_swapstack4(c, i, i * i, ~i, i << half);
    ASSERT_EQ(out.value[0], i + 1);
    ASSERT_EQ(out.value[1], i * i + 2);
    ASSERT_EQ(out.value[2], ~i + 3);
    ASSERT_EQ(out.value[3], i + i * i + ~i + (i << half));
    c = out.from;
  }
}

TEST(Switch, WordsOfBusySwitchesArriveToo) {
  stack s;
  sennit_context c = sennit_newstack(s.top(), sum_of_four);
  for (uintptr_t i = 0; i < 100; ++i) {
    try {
      throw i;
    } catch (uintptr_t) {
      const sennit_transfer4 out = sennit_swapstack4(c, i, i * i, ~i, i << half);
      ASSERT_EQ(out.value[0], i + 1);
      ASSERT_EQ(out.value[1], i * i + 2);
      ASSERT_EQ(out.value[2], ~i + 3);
      ASSERT_EQ(out.value[3], i + i * i + ~i + (i << half));
      ASSERT_TRUE(out.from);
      c = out.from;
    }
  }
}

struct saved_sides {
  sennit_context outer = nullptr;
  sennit_context inner = nullptr;
};

void echo_saving(sennit_context from, uintptr_t value, uintptr_t place, uintptr_t, uintptr_t) {
  auto& sides = *reinterpret_cast<saved_sides*>(place);
  EXPECT_EQ(from, sides.outer);
  for (;;)
    value = sennit_swapstack_saving(sides.outer, value + 1, &sides.inner);
}

void start_echo(sennit_context from, uintptr_t place, uintptr_t, uintptr_t, uintptr_t) {
  const sennit_transfer in = sennit_swapstack(from, 0);
  echo_saving(in.from, in.value, place, 0, 0);
}

TEST(Switch, SavingTellsThePlaceWhoLeft) {
  stack s;
  saved_sides sides;
  sides.inner =
      sennit_swapstack(sennit_newstack(s.top(), start_echo), reinterpret_cast<uintptr_t>(&sides)).from;
  for (uintptr_t i = 0; i < 100; ++i) {
    ASSERT_EQ(sennit_swapstack_saving(sides.inner, i, &sides.outer), i + 1);
    try {
      throw i;
    } catch (uintptr_t) {
      ASSERT_EQ(sennit_swapstack_saving(sides.inner, i * 7, &sides.outer), i * 7 + 1);
    }
  }
}

void compare_from(sennit_context from, uintptr_t place, uintptr_t, uintptr_t, uintptr_t) {
  sennit_leave(from, from == *reinterpret_cast<sennit_context*>(place));
}

// The target gets the leaver in the register as well, by the slow path too.
TEST(Switch, SavingTellsTheTargetWhoLeft) {
  stack s;
  sennit_context self = nullptr;
  const auto place = reinterpret_cast<uintptr_t>(&self);
  EXPECT_EQ(sennit_swapstack_saving(sennit_newstack(s.top(), compare_from), place, &self), 1u);
  try {
    throw 1;
  } catch (int) {
    EXPECT_EQ(sennit_swapstack_saving(sennit_newstack(s.top(), compare_from), place, &self), 1u);
  }
}

void count_down(sennit_context from, uintptr_t rounds, uintptr_t mark, uintptr_t, uintptr_t) {
  while (rounds-- > 0)
    from = sennit_swapstack(from, mark).from;
  sennit_leave(from, 0);
}

TEST(Switch, TenThousandContextsInTurn) {
  constexpr size_t contexts = 10'000;
  constexpr uintptr_t rounds = 3;
  std::vector<std::unique_ptr<stack>> stacks;
  std::vector<sennit_context> handles;
  for (size_t i = 0; i < contexts; ++i) {
    stacks.push_back(std::make_unique<stack>(16 * 1024));
    handles.push_back(sennit_newstack(stacks.back()->top(), count_down));
    const sennit_transfer4 out = sennit_swapstack4(handles[i], rounds, i + 1, 0, 0);
    ASSERT_EQ(out.value[0], i + 1);
    handles[i] = out.from;
  }
  for (uintptr_t round = 1; round < rounds; ++round) {
    for (size_t i = 0; i < contexts; ++i) {
      const sennit_transfer out = sennit_swapstack(handles[i], 0);
      ASSERT_EQ(out.value, i + 1);
      handles[i] = out.from;
    }
  }
  for (size_t i = 0; i < contexts; ++i) {
    const sennit_transfer out = sennit_swapstack(handles[i], 0);
    ASSERT_EQ(out.value, 0u);
    ASSERT_EQ(out.from, nullptr);  // it left for good
  }
}

[[gnu::noinline]] uintptr_t descend(sennit_context& from, unsigned depth) {
  volatile uintptr_t here = depth;
  from = sennit_swapstack(from, depth).from;
  const uintptr_t below = depth == 0 ? 0 : descend(from, depth - 1);
  from = sennit_swapstack(from, depth).from;
  return below + here;
}

void recurse(sennit_context from, uintptr_t depth, uintptr_t, uintptr_t, uintptr_t) {
  const uintptr_t sum = descend(from, static_cast<unsigned>(depth));
  sennit_leave(from, sum);
}

TEST(Switch, AtEveryDepthOfADeepRecursion) {
  constexpr uintptr_t depth = 10'000;
  stack s(64 * 1024 * 1024);
  sennit_transfer out = sennit_swapstack(sennit_newstack(s.top(), recurse), depth);
  for (uintptr_t d = depth + 1; d-- > 0;) {
    ASSERT_EQ(out.value, d);
    out = sennit_swapstack(out.from, 0);
  }
  for (uintptr_t d = 0; d <= depth; ++d) {
    ASSERT_EQ(out.value, d);
    out = sennit_swapstack(out.from, 0);
  }
  EXPECT_EQ(out.value, depth * (depth + 1) / 2);
}

// A body that fills every floating-point register with values of its own, and twenty live doubles over each
// switch.
[[gnu::noinline]] double mix(double x, int n) {
  double v[20];
  for (int i = 0; i < 20; ++i)
    v[i] = std::sin(x + i) + n;
  double sum = 0;
  for (double each : v)
    sum = sum * 1.0000001 + each;
  return sum;
}

void trash_floating_point(sennit_context from, uintptr_t, uintptr_t, uintptr_t, uintptr_t) {
  double x = 1e300;
  long double l = 3.0L;
  for (int n = 0;; ++n) {
    x = mix(x, n);
    l = l * 1.1L + static_cast<long double>(x);
    from = sennit_swapstack(from, static_cast<uintptr_t>(l > 0)).from;
  }
}

template <bool switching>
[[gnu::noinline]] std::vector<double> twenty_chains(sennit_context c) {
  double a[20];
  long double l = 0.1L;
  float f = 0.1F;
  for (int i = 0; i < 20; ++i)
    a[i] = 1.0 / (i + 3);
  // Named locals, so that they are in registers where the compiler likes.
  double p = a[0], q = a[1], r = a[2], s = a[3], t = a[4], u = a[5], v = a[6], w = a[7], x = a[8], y = a[9];
  for (int round = 0; round < 500; ++round) {
    p = p * 1.000001 + q;
    q = q * 0.999999 + r;
    r = r / 1.000003 + s;
    s = s * 0.999997 + t;
    t = t * 1.000005 - u;
    if constexpr (switching)
      c = sennit_swapstack(c, 0).from;
    u = u * 0.999995 + v;
    v = v / 1.000007 - w;
    w = w * 0.999993 + x;
    x = x * 1.000009 + y;
    y = y * 0.999991 - p * 1e-9;
    l = l * 1.00001L + static_cast<long double>(p);
    f = f * 1.0001F + static_cast<float>(q);
    if constexpr (switching)
      c = sennit_swapstack_call(c, 0).from;
  }
  return {p, q, r, s, t, u, v, w, x, y, static_cast<double>(l), static_cast<double>(f)};
}

TEST(Switch, FloatingPointStateIsBitExact) {
  stack s;
  const auto with = twenty_chains<true>(sennit_newstack(s.top(), trash_floating_point));
  const auto without = twenty_chains<false>(nullptr);
  ASSERT_EQ(with.size(), without.size());
  for (size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(std::memcmp(&with[i], &without[i], sizeof(double)), 0) << i;
  }
}

#if !defined(SENNIT_BACKEND_PORTABLE)
void set_rounding(sennit_context from, uintptr_t mode, uintptr_t, uintptr_t, uintptr_t) {
  for (;;) {
    std::fesetround(static_cast<int>(mode));
    const sennit_transfer in = sennit_swapstack(from, 0);
    from = in.from;
    mode = in.value;
  }
}

// As over a function call: a context that changes the control word changes it for the contexts that it
// resumes.
TEST(Switch, ControlWordsStayAsTheyAre) {
  stack s;
  sennit_context c = sennit_newstack(s.top(), set_rounding);
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    c = sennit_swapstack(c, static_cast<uintptr_t>(mode)).from;
    EXPECT_EQ(std::fegetround(), mode);
  }
}

// What the handle promises: one word, pointing at what lies lowest in the context's stack.
TEST(Switch, HandlePointsAtTheLowestWordsInUse) {
  stack s;
  sennit_context c = sennit_newstack(s.top(), triple);
  EXPECT_EQ(reinterpret_cast<char*>(c) + SENNIT_RECORD_SIZE, s.top());
  c = sennit_swapstack(c, 1).from;
  // Nothing below the handle matters.
  std::memset(s.bottom(), 0xee,
              static_cast<size_t>(reinterpret_cast<char*>(c) - static_cast<char*>(s.bottom())));
  const sennit_transfer out = sennit_swapstack(c, 5);
  EXPECT_EQ(out.value, 16u);
  EXPECT_EQ(out.from, c);  // the same point of the same frame
}
#endif

}  // namespace
