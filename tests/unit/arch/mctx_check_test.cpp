// sennit/mctx.h, from C++ as well: see mctx_test.c.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "sennit/mctx.h"
#include "support/sanitizers.hpp"
#include "support/stack.hpp"

extern "C" {
int mctx_switches();
int mctx_saves();
int mctx_saved_on_other_stacks();
int mctx_masks();
int mctx_fp_control();
int mctx_errno();
int mctx_keeps_queued_signals();
int mctx_errors();
void mctx_return_from_start();
void mctx_restore_running();
void mctx_switch_to_running();
void mctx_restore_nothing();
void* mctx_suspend();
int mctx_resume(void*);
}

namespace {

// Each names the line of mctx_test.c that is wrong.
TEST(Mctx, Switches) {
  EXPECT_EQ(mctx_switches(), 0);
}

TEST(Mctx, Masks) {
  EXPECT_EQ(mctx_masks(), 0);
}

TEST(Mctx, FpControl) {
  EXPECT_EQ(mctx_fp_control(), 0);
}

TEST(Mctx, Errno) {
  EXPECT_EQ(mctx_errno(), 0);
}

// ThreadSanitizer hands signals over later, in calls that it knows.
#if !defined(SUPPORT_TSAN)
TEST(Mctx, CreationKeepsQueuedSignals) {
  EXPECT_EQ(mctx_keeps_queued_signals(), 0);
}
#endif

TEST(Mctx, Errors) {
  EXPECT_EQ(mctx_errors(), 0);
}

// The sanitizers' longjmp takes the stack it leaves for unwound.
#if !defined(SUPPORT_ASAN) && !defined(SUPPORT_TSAN)
TEST(Mctx, Saves) {
  EXPECT_EQ(mctx_saves(), 0);
}

TEST(Mctx, SavedOnOtherStacks) {
  EXPECT_EQ(mctx_saved_on_other_stacks(), 0);
}
#endif

TEST(Mctx, ASuspendedContextGoesOnOnAnotherThread) {
  void* const suspended = mctx_suspend();
  ASSERT_NE(suspended, nullptr);
  int number = 0;
  std::thread([&] { number = mctx_resume(suspended); }).join();
  EXPECT_EQ(number, 8);
  EXPECT_EQ(mctx_resume(suspended), 9);
}

sennit_mctx home, other;

void throw_and_catch(void* caught) {
  try {
    throw std::runtime_error("other");
  } catch (const std::exception& e) {
    sennit_mctx_switch(&other, &home);
    *static_cast<std::string*>(caught) = e.what();
  }
  sennit_mctx_restore(&home);
}

TEST(Mctx, SwitchesInHandlers) {
  const support::stack s;
  std::string caught;
  ASSERT_EQ(sennit_mctx_create(&other, throw_and_catch, &caught, s.bottom(), s.size(), 0), 0);
  try {
    throw std::runtime_error("home");
  } catch (const std::exception& e) {
    sennit_mctx_switch(&home, &other);
    EXPECT_STREQ(e.what(), "home");
    sennit_mctx_switch(&home, &other);
    EXPECT_STREQ(e.what(), "home");
  }
  EXPECT_EQ(caught, "other");
}

TEST(MctxDeathTest, Misuse) {
  EXPECT_DEATH(mctx_return_from_start(), "sennit: mctx: a start function returned");
  EXPECT_DEATH(mctx_restore_running(), "resumed a context that is running");
  EXPECT_DEATH(mctx_switch_to_running(), "resumed a context that is running");
  EXPECT_DEATH(mctx_restore_nothing(), "was never made");
}

}  // namespace
