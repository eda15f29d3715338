// The C++ exception globals at a switch: each context has its own caught exceptions and its own count of
// uncaught ones, whatever thread it runs on.
#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/strand.hpp"

namespace {

using support::strand;
using exception_pointer = std::exception_ptr;

void expect_clean() {
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_FALSE(std::current_exception());
}

std::string current_message() {
  const exception_pointer current = std::current_exception();
  if (!current)
    return "none";
  try {
    std::rethrow_exception(current);
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Catches its own exception, yields `switches` times inside the handler, and rethrows.
uintptr_t catch_yield_rethrow(strand& self, const std::string& name, int switches) {
  try {
    try {
      throw std::runtime_error(name);
    } catch (const std::runtime_error&) {
      for (int i = 0; i < switches; ++i) {
        if (i % 2 == 0) {
          self.yield();
        } else {
          self.yield_call();
        }
        EXPECT_EQ(current_message(), name);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
      throw;
    }
  } catch (const std::runtime_error& again) {
    EXPECT_EQ(again.what(), name);
    return again.what() == name;
  }
  return 0;
}

// Resumes all as often as they switch, then once to their ends, where each returns 1.
void resume_in_turn(std::span<const std::unique_ptr<strand>> strands, int switches) {
  for (int round = 0; round < switches; ++round) {
    for (const auto& each : strands) {
      each->resume();
      expect_clean();
    }
  }
  for (const auto& each : strands) {
    EXPECT_EQ(each->resume(), 1u);
    EXPECT_TRUE(each->done());
    expect_clean();
  }
}

void rethrow_in_turn(size_t count, int switches) {
  std::vector<std::unique_ptr<strand>> strands;
  for (size_t i = 0; i < count; ++i) {
    strands.push_back(std::make_unique<strand>([=](strand& self, uintptr_t) {
      return catch_yield_rethrow(self, "exception number " + std::to_string(i), switches);
    }));
  }
  resume_in_turn(strands, switches);
}

TEST(Exceptions, TwoContextsRethrowTheirOwn) {
  rethrow_in_turn(2, 1);
}
TEST(Exceptions, SixteenContextsRethrowTheirOwn) {
  rethrow_in_turn(16, 20);
}

TEST(Exceptions, BothSidesOfASwitchHandleOne) {
  strand other([](strand& self, uintptr_t) { return catch_yield_rethrow(self, "inner", 10); });
  try {
    try {
      throw std::logic_error("outer");
    } catch (const std::logic_error&) {
      while (!other.done()) {
        other.resume_call();
        EXPECT_EQ(current_message(), "outer");
      }
      throw;
    }
  } catch (const std::logic_error& again) {
    EXPECT_STREQ(again.what(), "outer");
  }
  expect_clean();
}

struct yields_when_destroyed {
  strand& self;
  int expected_uncaught;
  ~yields_when_destroyed() {
    EXPECT_EQ(std::uncaught_exceptions(), expected_uncaught);
    self.yield();
    EXPECT_EQ(std::uncaught_exceptions(), expected_uncaught);
    // A throw and catch of its own during unwinding.
    try {
      const yields_when_destroyed* none = nullptr;
      if (none == nullptr)
        throw std::range_error("in a destructor");
    } catch (const std::range_error&) {
      EXPECT_EQ(std::uncaught_exceptions(), expected_uncaught);
      self.yield();
      EXPECT_EQ(current_message(), "in a destructor");
    }
    EXPECT_EQ(std::uncaught_exceptions(), expected_uncaught);
  }
};

TEST(Exceptions, SwitchInADestructorDuringUnwinding) {
  std::array<std::unique_ptr<strand>, 4> strands;
  for (size_t i = 0; i < strands.size(); ++i) {
    strands[i] = std::make_unique<strand>([i](strand& self, uintptr_t) {
      uintptr_t caught = 0;
      try {
        yields_when_destroyed first{self, 1};
        yields_when_destroyed second{self, 1};
        throw i;
      } catch (size_t got) {
        EXPECT_EQ(got, i);
        caught = 1;
      }
      yields_when_destroyed without{self, 0};
      return caught;
    });
  }
  resume_in_turn(strands, 6);
}

TEST(Exceptions, NestedHandlers) {
  auto body = [](strand& self, uintptr_t tag) -> uintptr_t {
    const std::string name = std::to_string(tag);
    try {
      throw std::runtime_error("a" + name);
    } catch (const std::exception&) {
      self.yield();
      try {
        throw std::runtime_error("b" + name);
      } catch (const std::exception&) {
        self.yield();
        try {
          try {
            throw std::runtime_error("c" + name);
          } catch (const std::exception&) {
            self.yield();
            EXPECT_EQ(current_message(), "c" + name);
            throw;
          }
        } catch (const std::exception& e) {
          EXPECT_EQ(e.what(), "c" + name);
        }
        self.yield();
        EXPECT_EQ(current_message(), "b" + name);
      }
      self.yield();
      EXPECT_EQ(current_message(), "a" + name);
    }
    self.yield();
    expect_clean();
    return 1;
  };
  strand one(body);
  strand two(body);
  for (int i = 0; i < 6; ++i) {
    one.resume(1);
    expect_clean();
    two.resume(2);
    expect_clean();
  }
  EXPECT_EQ(one.resume() + two.resume(), 2u);
}

TEST(Exceptions, AnExceptionPointerOutlivesTheSwitch) {
  exception_pointer kept;
  strand body([&kept](strand& self, uintptr_t) -> uintptr_t {
    try {
      throw std::runtime_error("kept");
    } catch (const std::exception&) {
      kept = std::current_exception();
      self.yield();
    }
    return 0;
  });
  body.resume();
  body.resume();
  EXPECT_TRUE(body.done());
  EXPECT_THROW(std::rethrow_exception(kept), std::runtime_error);
}

// A suspends inside a handler; B resumes it there and it rethrows on B.
TEST(Exceptions, AHandlerContinuesOnAnotherThread) {
  for (int switches : {1, 2, 9}) {
    std::unique_ptr<strand> body;
    std::thread a([&] {
      body = std::make_unique<strand>(
          [=](strand& self, uintptr_t) { return catch_yield_rethrow(self, "moving", switches); });
      body->resume();
      expect_clean();
      // A's own exceptions are unchanged.
      EXPECT_EQ(catch_yield_rethrow(*body, "a's own", 0), 1u);
      expect_clean();
    });
    a.join();
    std::thread b([&] {
      expect_clean();
      uintptr_t last = 0;
      try {
        throw std::runtime_error("b's own");
      } catch (const std::exception&) {
        for (int i = 0; i < switches; ++i) {
          last = body->resume();
          EXPECT_EQ(current_message(), "b's own");
        }
      }
      EXPECT_EQ(last, 1u);
      EXPECT_TRUE(body->done());
      expect_clean();
    });
    b.join();
    expect_clean();
  }
}

// Unwinding, with its count, moves too; and the contexts go back and forth.
TEST(Exceptions, UnwindingContinuesOnAnotherThread) {
  std::unique_ptr<strand> body = std::make_unique<strand>([](strand& self, uintptr_t) -> uintptr_t {
    int caught = 0;
    for (int i = 0; i < 10; ++i) {
      try {
        yields_when_destroyed in_the_way{self, 1};
        throw i;
      } catch (int got) {
        caught += got == i;
      }
    }
    return static_cast<uintptr_t>(caught);
  });
  uintptr_t last = 0;
  for (int turn = 0; !body->done(); ++turn) {
    std::thread([&] {
      expect_clean();
      last = turn % 2 == 0 ? body->resume() : body->resume_call();
      expect_clean();
    }).join();
    if (!body->done())
      last = body->resume();
    expect_clean();
  }
  EXPECT_EQ(last, 10u);
}

// A thread's first switch looks its globals up, whether they are busy or not, and by whatever form.
TEST(Exceptions, FirstSwitchOfAFreshThread) {
  for (const bool busy : {false, true}) {
    for (const bool by_call : {false, true}) {
      std::thread([=] {
        strand body([](strand& self, uintptr_t) -> uintptr_t {
          expect_clean();
          return self.yield(42);
        });
        if (!busy) {
          EXPECT_EQ(by_call ? body.resume_call() : body.resume(), 42u);
        } else {
          try {
            throw std::runtime_error("fresh");
          } catch (const std::exception&) {
            EXPECT_EQ(by_call ? body.resume_call() : body.resume(), 42u);
            EXPECT_EQ(current_message(), "fresh");
          }
        }
        expect_clean();
        EXPECT_EQ(body.resume(7), 7u);
      }).join();
    }
  }
}

// A context whose first switch on a thread is out of a handler, on a thread that has never switched.
TEST(Exceptions, AFreshThreadResumesABusyContext) {
  strand body([](strand& self, uintptr_t) { return catch_yield_rethrow(self, "old", 2); });
  body.resume();
  std::thread([&] {
    body.resume();
    expect_clean();
  }).join();
  EXPECT_EQ(body.resume(), 1u);
}

void throws_out(sennit_context, uintptr_t, uintptr_t, uintptr_t, uintptr_t) {
  throw std::runtime_error("out of an entry function");
}

// Linked or not, nothing is unwound into the resumer, which would catch it.
TEST(ExceptionsDeathTest, OutOfAnEntryFunctionTerminates) {
  support::stack s;
  auto* top = static_cast<sennit_context*>(s.top());
  auto run = [&](sennit_context c) {
    try {
      *top = sennit_swapstack(c, 0).from;
    } catch (...) {
      std::puts("caught");
    }
  };
  EXPECT_DEATH(run(sennit_newstack(top, throws_out)), "out of an entry function");
  EXPECT_DEATH(run(sennit_newlinked(top, throws_out)), "out of an entry function");
  // The same with a link to follow.
  auto link_first = [](sennit_context from, uintptr_t place, uintptr_t, uintptr_t, uintptr_t) {
    *reinterpret_cast<sennit_context*>(place) = from;
    throws_out(from, 0, 0, 0, 0);
  };
  auto run_linked = [&] {
    try {
      sennit_swapstack(sennit_newlinked(top, link_first), reinterpret_cast<uintptr_t>(top));
    } catch (...) {
      std::puts("caught");
    }
  };
  EXPECT_DEATH(run_linked(), "out of an entry function");
}
TEST(Exceptions, AThrowInALinkedContextIsCaughtInside) {
  strand body(
      [](strand& self, uintptr_t) -> uintptr_t {
        uintptr_t sum = 0;
        for (uintptr_t i = 1; i <= 10; ++i) {
          try {
            self.yield(i);
            throw i;
          } catch (uintptr_t got) {
            sum += got;
            self.yield(got);
          }
        }
        return sum;
      },
      strand::kind::linked);
  uintptr_t last = 0;
  while (!body.done())
    last = body.resume();
  EXPECT_EQ(last, 55u);
}

}  // namespace
