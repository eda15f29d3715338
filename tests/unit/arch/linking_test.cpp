// The switches that note where we are suspended, and the contexts that rely on it.
#include <gtest/gtest.h>

#include <new>

#include "sennit/detail/arch/context.h"
#include "support/stack.hpp"

namespace {

using support::stack;

// Notes the context that was reported as the leaver; returns to the place that the caller noted.
struct told_of {
  sennit_context caller;
  sennit_context from;
};
void say_who(sennit_context from, uintptr_t place, uintptr_t, uintptr_t, uintptr_t) {
  auto& told = *reinterpret_cast<told_of*>(place);
  for (;;) {
    told.from = from;
    from = sennit_swapstack(told.caller, place + 1).from;
  }
}

TEST(Switch, LinkingTellsWhoLeftAndFiledDoesNot) {
  stack s;
  told_of told{};
  const auto place = reinterpret_cast<uintptr_t>(&told);
  sennit_transfer back = sennit_swapstack_linking(sennit_newstack(s.top(), say_who), place, &told.caller);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(back.value, place + 1);
    EXPECT_EQ(told.from, told.caller);
    back = sennit_swapstack_filed(back.from, place, &told.caller);
    EXPECT_EQ(back.value, place + 1);
    EXPECT_EQ(told.from, nullptr);
    try {
      throw i;
    } catch (int) {  // the way round the exception globals
      back = sennit_swapstack_filed(back.from, place, &told.caller);
      EXPECT_EQ(told.from, nullptr);
      back = sennit_swapstack_linking(back.from, place, &told.caller);
    }
  }
}

#if !defined(SENNIT_BACKEND_PORTABLE)
struct adder : sennit_server {
  int sum = 0;
  sennit_context inside = nullptr;
};

// Every other request suspends itself and is resumed from elsewhere; every third ends by its return.
void add_one(sennit_server* self) {
  auto& mine = *static_cast<adder*>(self);
  if (++mine.sum % 2 == 0)
    mine.inside = sennit_swapstack(mine.resumer, 7).from;
  if (mine.sum % 3 != 0)
    sennit_server_leave(self);
}

[[gnu::noinline]] sennit_transfer resume_from_deeper(adder& server, sennit_context to) {
  return sennit_swapstack_linking(to, 0, &server.resumer);
}

TEST(Switch, AServerServesAgainAndAgain) {
  stack s;
  auto* server = new (static_cast<char*>(s.top()) - 256) adder{};
  server->action = add_one;
  server->context = sennit_newserver(server);
  const sennit_context home = server->context;
  for (int i = 1; i < 20; ++i) {
    sennit_transfer out = sennit_swapstack_linking(server->context, 0, &server->resumer);
    if (i % 2 == 0) {
      EXPECT_EQ(out.value, 7u);
      out = resume_from_deeper(*server, out.from);
    }
    EXPECT_EQ(out.from, nullptr);
    EXPECT_EQ(server->sum, i);
    EXPECT_EQ(server->context, home);
  }
}
#endif

}  // namespace
