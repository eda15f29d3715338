// verdict::unwind where some function, or all, cannot be left by an exception. As
// non_call_exceptions_test.cpp it is compiled with -fnon-call-exceptions.
#include <cstring>
#include <memory>
#include <string>

#include "exception_servers.hpp"
#include "sennit/generator.hpp"

#if defined(SENNIT_NON_CALL_EXCEPTIONS) && SENNIT_REDIRECTS

namespace sennit {
namespace {

const std::string innermost =
    "sennit: fiber \"faulty\": no exception can leave its innermost functions: its frames are given up, and "
    "nothing in them is destroyed\n";
const std::string whole =
    "sennit: fiber \"faulty\": no exception can leave its function: its frames are given up, and nothing in "
    "them is destroyed\n";
const std::string where_it_is =
    "sennit: fiber \"faulty\": no exception can leave where it is: its frames are given up, and nothing in "
    "them is destroyed\n";

// The objects destroyed in a fiber that was unwound.
struct ends {
  int inner = 0;
  int outer = 0;
};

template <class Kind>
class UnwindRefused : public exception_servers<Kind> {
protected:
  // A fiber that faults in `function`, and is unwound; others continue. Returns the printed text.
  template <class Function>
  static std::string unwound(const ends& expected, Function function) {
    const outcome result = exception_servers<Kind>::dies([&] {
      typename Kind::exception_server server;
      const typename Kind::runtime_exception_guard all(server);
      auto unwinds = exception_servers<Kind>::answer(server, 1, verdict::unwind);
      const auto owned = std::make_shared<int>(1);
      ends ended;
      Kind::spawn([&function, &ended, owned] { function(ended); }, {.name = "faulty"}).join();
      unwinds.join();
      EXPECT_EQ(ended.inner, expected.inner);
      EXPECT_EQ(ended.outer, expected.outer);
      EXPECT_EQ(owned.use_count(), 1);  // the fiber's function object
      Kind::spawn([] { Kind::yield(); }).join();
    });
    EXPECT_TRUE(result.exited(0)) << result;
    return result.said;
  }
};

// ---- Functions that are noexcept.

[[gnu::noinline]] void destroys_and_faults(ends& ended) {
  const counts_its_end mine{ended.inner};
  write_to(nowhere);
}
[[gnu::noinline]] void lets_nothing_out(ends& ended) noexcept {
  destroys_and_faults(ended);
}
// A caller through it does not know that it is noexcept.
void (*volatile may_throw)(ends&) = lets_nothing_out;

KIND_TEST(UnwindRefused, ItIsThrownWhereAFunctionWasCalledThatIsNoexcept) {
  const std::string said = this->unwound({.inner = 0, .outer = 1}, [](ends& ended) {
    const counts_its_end outer{ended.outer};
    may_throw(ended);
  });
  EXPECT_EQ(said, innermost);
}

// And may be caught there: the fiber continues.
KIND_TEST(UnwindRefused, WhoCallsSuchAFunctionMayCatchIt) {
  const std::string said = this->unwound({.inner = 0, .outer = 2}, [](ends& ended) {
    try {
      const counts_its_end outer{ended.outer};
      may_throw(ended);
    } catch (const killed&) {
      ++ended.outer;
    }
  });
  EXPECT_EQ(said, innermost);
}

[[gnu::noinline]] void knows_that_nothing_comes(ends& ended) {
  const counts_its_end mine{ended.inner};
  lets_nothing_out(ended);
}
void (*volatile may_throw_further_out)(ends&) = knows_that_nothing_comes;

KIND_TEST(UnwindRefused, WhoCallsItAndKnowsIsGivenUpToo) {
  const std::string said = this->unwound({.inner = 0, .outer = 1}, [](ends& ended) {
    const counts_its_end outer{ended.outer};
    may_throw_further_out(ended);
  });
  EXPECT_EQ(said, innermost);
}

// All that calls it is Sennit's, and may be a part of it, or know that nothing comes.
KIND_TEST(UnwindRefused, AFiberWhoseFunctionIsNoexceptEnds) {
  const std::string said =
      this->unwound({.inner = 0, .outer = 0}, [](ends& ended) noexcept { destroys_and_faults(ended); });
  EXPECT_TRUE(said == innermost || said == whole) << said;
}

[[gnu::noinline]] void resumes_and_lets_nothing_out(generator<int>& body) noexcept {
  static_cast<void>(body.begin());
}
// The generator's exception would reach its resumer by another way: no frame can be left for it.
KIND_TEST(UnwindRefused, AGeneratorWhoseResumerIsNoexceptIsGivenUpWithItsFiber) {
  const std::string said = this->unwound({.inner = 0, .outer = 0}, [](ends& ended) {
    const counts_its_end outer{ended.outer};
    generator<int> body([&](auto& yield) {
      destroys_and_faults(ended);
      yield(1);
    });
    resumes_and_lets_nothing_out(body);
  });
  EXPECT_EQ(said, whole);
}

// ---- Overflows: there is no room to throw, up to some frame.

[[gnu::noinline]] int descends_with_more_to_destroy(ends& ended, int depth) {
  const counts_its_end mine{ended.inner};
  volatile char frame[200];
  frame[depth % 200] = static_cast<char>(depth);
  return forever == 0 ? 0 : descends_with_more_to_destroy(ended, depth + 1) + frame[depth % 200];
}

KIND_TEST(UnwindRefused, AnOverflowIsThrownWhereThereIsRoomForIt) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto unwinds = this->answer(server, 1, verdict::unwind);
    ends ended;
    bool caught = false;
    this->served(server,
                 [&] {
                   try {
                     descends_with_more_to_destroy(ended, 0);
                   } catch (const killed&) {
                     caught = true;
                   }
                 })
        .join();
    unwinds.join();
    EXPECT_TRUE(caught);
    // Some 12 KB of 64 were given up.
    EXPECT_GT(ended.inner, 60);
    EXPECT_LT(ended.inner, (64 - 12) * 1024 / 200);
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(result.said, innermost);
}

// ---- Code that has no tables.

// As a wrong function pointer does.
KIND_TEST(UnwindRefused, CodeWithoutTablesThatFaultsAtOnceIsLeftByItsCaller) {
  const code_without_tables traps(traps_at_once);
  const std::string said = this->unwound({.inner = 1, .outer = 1}, [&](ends& ended) {
    const counts_its_end outer{ended.outer};
    const counts_its_end inner{ended.inner};
    traps();
  });
  EXPECT_EQ(said, "");
}

// Its caller is not known.
KIND_TEST(UnwindRefused, CodeWithoutTablesThatHasAFrameIsGivenUpWithItsFiber) {
  const code_without_tables traps(traps_with_a_frame);
  const std::string said = this->unwound({.inner = 0, .outer = 0}, [&](ends& ended) {
    const counts_its_end outer{ended.outer};
    traps();
  });
  EXPECT_EQ(said, where_it_is);
}

// Nor is the caller's caller: the walk ends there.
void faults() {
  write_to(nowhere);
}
KIND_TEST(UnwindRefused, AFunctionThatCodeWithoutTablesHasCalledIsGivenUpWithItsFiber) {
  unsigned char code[sizeof calls_a_function];
  std::memcpy(code, calls_a_function, sizeof code);
  void (*const function)() = faults;
  std::memcpy(code + called_function_at, &function, sizeof function);
  const code_without_tables calls(code);
  const std::string said = this->unwound({.inner = 0, .outer = 0}, [&](ends& ended) {
    const counts_its_end outer{ended.outer};
    calls();
  });
  EXPECT_EQ(said, whole);
}

}  // namespace
}  // namespace sennit

#endif
