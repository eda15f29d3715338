// Fibers that overflow at the same time, and the emergency stacks that they are served on.
#include <string>

#include "exception_servers.hpp"

namespace sennit {
namespace {

constexpr int emergency_stacks = 8;  // in reserve

[[gnu::noinline]] void fault_deep_in_the_stack() {
  void* const most = __builtin_alloca(50 * 1024);
  asm volatile("" : : "r"(most) : "memory");
  write_to(nowhere);
}

template <class Kind>
class ExceptionServerOverflow : public exception_servers<Kind> {
protected:
  using fibers = typename kind_test<Kind>::fiber_list;

  // A child with a server of all fibers: no guard is made later.
  template <class Function>
  static outcome with_server(Function function) {
    return exception_servers<Kind>::dies([&] {
      typename Kind::exception_server server;
      const typename Kind::runtime_exception_guard all(server);
      function(server);
    });
  }
  // Fibers that have overflowed when this returns, or have faulted near their stacks' ends.
  template <class Faults>
  static void fault(fibers& all, int count, Faults faults) {
    for (int i = 0; i < count; ++i)
      all.push_back(start<Kind>(faults));
  }
  static void overflow(fibers& all, int count) {
    fault(all, count, [] { descend(0); });
  }
  static int given_up(const outcome& of) {
    int found = 0;
    for (std::size_t at = 0; (at = of.said.find("a fault killed it", at)) != std::string::npos; ++at)
      ++found;
    return found;
  }
};

// And again.
KIND_TEST(ExceptionServerOverflow, AsManyAreServedAtOnceAsThereAreEmergencyStacks) {
  const outcome result = this->with_server([&](auto& server) {
    for (int i = 0; i < 3; ++i) {
      typename ExceptionServerOverflow<Kind>::fibers all;
      this->overflow(all, emergency_stacks);
      auto kills = this->answer(server, emergency_stacks, verdict::kill);
      this->join(all);
      kills.join();
    }
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(this->given_up(result), 3 * emergency_stacks) << result;
}

KIND_TEST(ExceptionServerOverflow, OneMoreEndsTheProcessAndItIsSaidWhy) {
  const outcome result = this->with_server([&](auto&) {
    typename ExceptionServerOverflow<Kind>::fibers all;
    this->overflow(all, emergency_stacks);
    std::fputs("all wait\n", stderr);
    Kind::spawn([] { descend(0); }, {.name = "one too many"}).join();
  });
  EXPECT_TRUE(result.says(
      "all wait\nsennit: stack overflow in fiber \"one too many\", and no emergency stack is left: "
      "its stack has "))
      << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

// Any other fault where there is too little left to serve it.
KIND_TEST(ExceptionServerOverflow, OneMoreThatFaultsDeepInItsStackDoes) {
  const outcome result = this->with_server([&](auto&) {
    typename ExceptionServerOverflow<Kind>::fibers all;
    this->fault(all, emergency_stacks, fault_deep_in_the_stack);
    std::fputs("all wait\n", stderr);
    Kind::spawn(fault_deep_in_the_stack, {.name = "one too many"}).join();
  });
  EXPECT_TRUE(
      result.says("all wait\nsennit: memory fault (SIGSEGV) at 0x0 in fiber \"one too many\", and no "
                  "emergency stack is left\n"))
      << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

// A fiber that faults with more of its stack left needs no emergency stack.
KIND_TEST(ExceptionServerOverflow, OtherFaultsAreServedAllTheSame) {
  const closed_page page;
  const outcome result = this->with_server([&](auto& server) {
    typename ExceptionServerOverflow<Kind>::fibers all;
    this->overflow(all, emergency_stacks);
    this->fault(all, emergency_stacks, [&page] { *page.at() = 1; });
    auto serves = this->serve(server, 2 * emergency_stacks, [&](auto& fault) {
      page.open();
      return fault.kind() == fault_kind::overflow ? verdict::kill : verdict::resume;
    });
    this->join(all);
    serves.join();
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(this->given_up(result), emergency_stacks) << result;
}

// A receiver fills up the reserve, although all received faults wait for their replies.
KIND_TEST(ExceptionServerOverflow, MoreMayComeOnceSomebodyReceives) {
  constexpr int rounds = 3;
  const outcome result = this->with_server([&](auto& server) {
    typename ExceptionServerOverflow<Kind>::fibers all;
    typename Kind::event every_one_waits;
    for (int round = 0; round < rounds; ++round) {
      if (round != 0)
        all.push_back(start<Kind>([&] {
          auto fault = server.receive();
          every_one_waits.wait();
          fault.reply(verdict::kill);
        }));
      this->overflow(all, emergency_stacks);
    }
    auto kills = this->answer(server, rounds * emergency_stacks - (rounds - 1), verdict::kill);
    kills.join();
    every_one_waits.set();
    this->join(all);
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(this->given_up(result), rounds * emergency_stacks) << result;
}

}  // namespace
}  // namespace sennit
