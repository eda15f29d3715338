// Faults of each kind: what their server sees, and what its verdicts do.
#include <memory>

#include "exception_servers.hpp"
#include "sennit/no_yield_guard.hpp"
#include "support/fault_kinds.hpp"

namespace sennit {
namespace {

using support::fault_cause;
using support::kind_of_fault;
using support::kinds_of_faults;

template <class Kind>
class ExceptionServerKinds : public exception_servers<Kind> {
protected:
  // A child whose fiber "faulty" faults while `around` lives, and has its server answer.
  template <class Around = int>
  static outcome with_one_answer(const kind_of_fault& fault, verdict with) {
    return exception_servers<Kind>::dies([&] {
      const fault_cause cause(fault);
      typename Kind::exception_server server;
      auto answers = exception_servers<Kind>::answer(server, 1, with);
      exception_servers<Kind>::served(server, [&] {
        [[maybe_unused]] const Around around{};
        cause.use();
      }).join();
    });
  }
};

#if SENNIT_REDIRECTS
KIND_TEST(ExceptionServerKinds, TheServerSeesWhichItIsAndRepairsIt) {
  for (const kind_of_fault& each : kinds_of_faults) {
    const fault_cause cause(each);
    int went_on = 0;
    this->run([&] {
      typename Kind::exception_server server;
      auto repairs = this->serve(server, 3, [&](auto& fault) {
        EXPECT_EQ(fault.kind(), each.kind) << each;
        EXPECT_EQ(fault.address(), cause.address(detail::program_counter(fault.registers()))) << each;
        EXPECT_EQ(fault.fiber(), "faulty") << each;
        cause.repair(detail::program_counter(fault.registers()));
        return verdict::resume;
      });
      this->served(server,
                   [&] {
                     for (int i = 0; i < 3; ++i) {
                       cause.use();
                       ++went_on;
                       cause.breaks_again();
                     }
                   })
          .join();
      repairs.join();
    });
    EXPECT_EQ(went_on, 3) << each;
  }
}
#endif

KIND_TEST(ExceptionServerKinds, AGuardedFunctionIsLeft) {
  for (const kind_of_fault& each : kinds_of_faults) {
    const fault_cause cause(each);
    int caught = 0, went_on = 0;
    this->run([&] {
      typename Kind::exception_server server;
      auto kills = this->answer(server, 3, verdict::kill);
      Kind::spawn([&] {
        for (int i = 0; i < 3; ++i)
          try {
            guarded(server, [&] {
              cause.use();
              ++went_on;
            });
          } catch (const killed&) {
            ++caught;
          }
      }).join();
      kills.join();
    });
    EXPECT_EQ(caught, 3) << each;
    EXPECT_EQ(went_on, 0) << each;
  }
}

KIND_TEST(ExceptionServerKinds, AFiberInNoGuardedFunctionIsGivenUpAndThatIsSaid) {
  for (const kind_of_fault& each : kinds_of_faults) {
    const outcome result = this->dies([&] {
      const fault_cause cause(each);
      typename Kind::exception_server server;
      auto kills = this->answer(server, 1, verdict::kill);
      const auto owned = std::make_shared<int>(1);
      int ended = 0;
      this->served(server,
                   [&cause, &ended, owned] {
                     const counts_its_end on_the_stack{ended};
                     cause.use();
                   })
          .join();
      kills.join();
      EXPECT_EQ(ended, 0) << each;
      EXPECT_EQ(owned.use_count(), 1) << each;
      Kind::spawn([] { Kind::yield(); }).join();
    });
    EXPECT_TRUE(result.exited(0)) << each << ": " << result;
    EXPECT_EQ(
        result.said,
        "sennit: fiber \"faulty\": a fault killed it, and no sennit::guarded function is there to leave: "
        "its frames are given up, and nothing in them is destroyed\n")
        << each;
  }
}

KIND_TEST(ExceptionServerKinds, PassedOnItEndsTheProcessByItsSignal) {
  for (const kind_of_fault& each : kinds_of_faults) {
    const outcome result = this->with_one_answer(each, verdict::pass);
    EXPECT_TRUE(each.is_reported(result, "faulty")) << each << ": " << result;
    EXPECT_TRUE(result.killed_by(each.signal)) << each << ": " << result;
  }
}

KIND_TEST(ExceptionServerKinds, WhereAFiberIsNotToYieldItEndsTheProcessByItsSignal) {
  for (const kind_of_fault& each : kinds_of_faults) {
    const outcome result = this->template with_one_answer<no_yield_guard>(each, verdict::kill);
    EXPECT_TRUE(each.is_reported(result, "faulty")) << each << ": " << result;
    EXPECT_TRUE(result.says("in fiber \"faulty\", where it is not to yield\n")) << each << ": " << result;
    EXPECT_TRUE(result.killed_by(each.signal)) << each << ": " << result;
  }
}

}  // namespace
}  // namespace sennit
