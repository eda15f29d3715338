// sennit/fp_control.h: contexts that keep their floating-point control state, beside some that do not.
#include "sennit/fp_control.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <optional>
#include <thread>
#include <utility>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/stack/sanitizer.hpp"
#include "support/fp_control.hpp"
#include "support/stack.hpp"

namespace {

using support::rounds_to_zero;
using support::stack;

static_assert(!std::is_copy_constructible_v<sennit::fp_control_guard>);

enum class verb { one, four, call, linking, filed };
constexpr verb verbs[] = {verb::one, verb::four, verb::call, verb::linking, verb::filed};

// Resumes the context at `to`, and stores the caller's suspended context in `self`.
sennit_context go(verb how, sennit_context to, sennit_context& self) {
  switch (how) {
    case verb::one:
      return sennit_swapstack(to, 0).from;
    case verb::four:
      return sennit_swapstack4(to, 0, 1, 2, 3).from;
    case verb::call:
      return sennit_swapstack_call(to, 0).from;
    case verb::linking:
      return sennit_swapstack_linking(to, 0, &self).from;
    default:
      return sennit_swapstack_filed(to, 0, &self).from;
  }
}

sennit_context left;  // the context resumed last, for verbs that do not report it

// Asks, rounds to zero, and looks after each switch whether it still does.
void keep(sennit_context from, uintptr_t how, uintptr_t wrong, uintptr_t, uintptr_t) {
  std::optional<sennit::fp_control_guard> keeps(std::in_place);
  std::fesetround(FE_TOWARDZERO);
  auto& count = *reinterpret_cast<int*>(wrong);
  for (int i = 0; i < 3; ++i) {
    from = go(static_cast<verb>(how), from, left);
    count += !rounds_to_zero();
  }
  try {  // with exception globals that are busy, too
    throw 7;
  } catch (int seven) {
    from = go(static_cast<verb>(how), from, left);
    count += !rounds_to_zero() + (seven != 7);
  }
  keeps.reset();
  count += rounds_to_zero();
  sennit_leave(from, 0);
}

TEST(FpControl, IsKeptOverEveryVerbAndShownToNobodyElse) {
  if (!support::has_fp_control())
    GTEST_SKIP() << "nothing is kept on this CPU";
  for (verb how : verbs) {
    stack s;
    int wrong = 0;
    sennit_context c = sennit_newstack(s.top(), keep);
    c = sennit_swapstack4(c, static_cast<uintptr_t>(how), reinterpret_cast<uintptr_t>(&wrong), 0, 0).from;
    for (int i = 0; i < 4; ++i) {
      EXPECT_FALSE(rounds_to_zero()) << i;
      c = sennit_swapstack(how == verb::filed ? left : c, 0).from;
    }
    EXPECT_FALSE(rounds_to_zero());
    EXPECT_EQ(wrong, 0) << static_cast<int>(how);
  }
}

// Two contexts that ask for it and one that does not, each with its own settings.
TEST(FpControl, OfTwoContextsIsEachOnesOwn) {
  if (!support::has_fp_control())
    GTEST_SKIP() << "nothing is kept on this CPU";
  const sennit::fp_control_guard keeps;
  std::fesetround(FE_UPWARD);
  stack s;
  int wrong = 0;
  sennit_context c = sennit_newstack(s.top(), keep);
  c = sennit_swapstack4(c, 0, reinterpret_cast<uintptr_t>(&wrong), 0, 0).from;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    c = sennit_swapstack(c, 0).from;
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(wrong, 0);
}

#if !defined(SENNIT_BACKEND_UCONTEXT)  // the context that decides there begins as we are
sennit_decision back_to_self(sennit_context self, void* seen) {
  *static_cast<bool*>(seen) = rounds_to_zero();
  return {self, 9};
}

TEST(FpControl, IsNotTheDecidersEither) {
  if (!support::has_fp_control())
    GTEST_SKIP() << "nothing is kept on this CPU";
  stack s;
  const sennit::fp_control_guard keeps;
  std::fesetround(FE_TOWARDZERO);
  bool seen = true;
  *static_cast<sennit_context*>(s.top()) = nullptr;
  EXPECT_EQ(sennit_suspend(s.top(), back_to_self, &seen), 9u);
  EXPECT_FALSE(seen);
  EXPECT_TRUE(rounds_to_zero());
}
#endif

TEST(FpControl, GuardsAreNestedAndEndWithWhatWasThere) {
  if (!support::has_fp_control())
    GTEST_SKIP() << "nothing is kept on this CPU";
  {
    const sennit::fp_control_guard outer;
    std::fesetround(FE_UPWARD);
    try {
      const sennit::fp_control_guard inner;
      std::fesetround(FE_TOWARDZERO);
      throw 1;
    } catch (int) {
      EXPECT_EQ(std::fegetround(), FE_UPWARD);
    }
    stack s;
    int wrong = 0;
    sennit_context c = sennit_newstack(s.top(), keep);
    sennit_swapstack4(c, 0, reinterpret_cast<uintptr_t>(&wrong), 0, 0);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);  // the outer one keeps it still
  }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(FpControl, GoesToAnotherThread) {
#if defined(SENNIT_ASAN) && defined(SENNIT_BACKEND_UCONTEXT)
  GTEST_SKIP() << "a frame in the thread's fake stack is entered after the thread";
#endif
  if (!support::has_fp_control())
    GTEST_SKIP() << "nothing is kept on this CPU";
  stack s;
  int wrong = 0;
  sennit_context c = sennit_newstack(s.top(), keep);
  c = sennit_swapstack4(c, 0, reinterpret_cast<uintptr_t>(&wrong), 0, 0).from;
  std::thread([&] {
    std::fesetround(FE_UPWARD);
    c = sennit_swapstack(c, 0).from;
#if !defined(SENNIT_BACKEND_UCONTEXT)  // which goes back to what the context before found
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
#endif
  }).join();
  for (int i = 0; i < 3; ++i)
    c = sennit_swapstack(c, 0).from;
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(rounds_to_zero());
}

#if defined(__x86_64__)
// Both registers, and only their control bits: not the flags of inexact results.
TEST(FpControl, OfX86IsBothRegisters) {
  const std::uint64_t before = sennit_fp_control_get();
  volatile double tiny = 1e-308;
  EXPECT_NE(tiny / 4, 0.0);
  std::feraiseexcept(FE_INEXACT);
  sennit_fp_control_set(before | 0x8040 | std::uint64_t{0x0c00} << 32);
  EXPECT_EQ(sennit_fp_control_get(), before | 0x8040 | std::uint64_t{0x0c00} << 32);
  EXPECT_EQ(tiny / 4, 0.0);  // flushed
  volatile long double one = 1, ten = 10;
  const long double truncated = one / ten;
  EXPECT_TRUE(std::fetestexcept(FE_INEXACT));
  sennit_fp_control_set(before);
  EXPECT_EQ(sennit_fp_control_get(), before);
  EXPECT_LT(truncated, one / ten);
  EXPECT_NE(tiny / 4, 0.0);
}
#endif

#if !defined(NDEBUG)
TEST(FpControlDeathTest, DroppedInAnotherContext) {
  EXPECT_DEATH(
      {
        sennit_fp_keeper first;
        sennit_fp_keeper second;
        sennit_fp_control_keep(&first);
        sennit_fp_control_drop(&first);
        second.outer = nullptr;
        sennit_fp_control_drop(&second);
      },
      "dropped in another context");
}
#endif

}  // namespace
