// Which of several candidates ends a wait.
#include "sennit/detail/sched/claim.hpp"

#include <tuple>

#include "model.hpp"

namespace {

using sennit::detail::claim_result;
using sennit::detail::claim_state;
using sennit::detail::parked_for_grant;

using claim = sennit::detail::basic_claim<model::memory>;

enum class parks { by_claim, blindly };

// A waiter, a waker that hands it a word, and a deadline. One of the two ends the wait, whenever they come,
// and the waiter resumes once.
auto waker_and_deadline(parks how) {
  return [=](model::run& run) {
    claim wait;
    model::gate ready;
    model::plain<int> word{0};
    model::plain<int> context{0};  // what whoever resumes the waiter reads
    model::atomic<unsigned> won{0};
    const auto end = [&](claim_state as) {
      const claim_result result = wait.take(as);
      if (result != claim_result::lost)
        won.fetch_add(1, std::memory_order_relaxed);
      if (result == claim_result::won) {
        MODEL_CHECK(context == 1);
        ready.signal();
      }
    };
    run.thread([&] {
      context = 1;
      if (wait.park() || how == parks::blindly)
        ready.wait();
      if (wait.state() == claim_state::taken)
        MODEL_CHECK(word == 7);
    });
    run.thread([&] {
      word = 7;
      end(claim_state::taken);
    });
    run.thread([&] { end(claim_state::timed_out); });
    run.join();
    MODEL_CHECK(won.load(std::memory_order_relaxed) == 1);
  };
}

// A fiber's own park, which may end by other things, too: a grant that comes first is kept, two are one.
auto parks_and_grants(unsigned granters) {
  return [=](model::run& run) {
    claim permit;
    model::gate ready;
    model::plain<int> given{0};
    model::plain<int> context{0};
    run.thread([&] {
      context = 1;
      if (permit.is_open() && permit.park())
        ready.wait();
      MODEL_CHECK(permit.reopen() == claim_state::taken);
      if (granters == 1)
        MODEL_CHECK(given == 1);
    });
    for (unsigned i = 0; i < granters; ++i)
      run.thread([&] {
        if (granters == 1)
          given = 1;
        if (permit.grant()) {
          MODEL_CHECK(context == 1);
          ready.signal();
        }
      });
    run.join();
  };
}

// Only grants end this wait. A waiter that parks again until all grants have arrived receives all of them. It
// is not made ready more often than it has parked.
auto parks_for_grants(unsigned granters) {
  return [=](model::run& run) {
    claim permit;
    model::gate ready;
    model::plain<int> context{0};
    model::atomic<unsigned> there{0};
    unsigned made_ready = 0, parked = 0;
    run.thread([&] {
      while (there.load(std::memory_order_relaxed) != granters) {
        context = context + 1;
        if (permit.is_open()) {
          if (permit.park(parked_for_grant)) {
            ++parked;
            ready.wait();
          }
        }
        permit.renew();
      }
    });
    for (unsigned i = 0; i < granters; ++i)
      run.thread([&] {
        there.fetch_add(1, std::memory_order_relaxed);
        if (permit.grant()) {
          MODEL_CHECK(context >= 1);
          ++made_ready;
          ready.signal();
        }
      });
    run.join();
    MODEL_CHECK(made_ready == parked);
  };
}

// The runtime's end comes to one that waits for a grant: one of the two makes it ready.
auto grant_and_end() {
  return [=](model::run& run) {
    claim permit;
    model::gate ready;
    unsigned made_ready = 0;
    run.thread([&] {
      if (permit.park(parked_for_grant)) {
        ready.wait();
        MODEL_CHECK(made_ready == 1);
      }
    });
    run.thread([&] {
      if (permit.grant()) {
        ++made_ready;
        ready.signal();
      }
    });
    run.thread([&] {
      if (permit.withdraw()) {
        ++made_ready;
        ready.signal();
      }
    });
    run.join();
    MODEL_CHECK(made_ready <= 1);
  };
}

TEST(claim, one_of_two_ends_a_wait) {
  const model::report r =
      model::explore("claim, waker and deadline", {}, waker_and_deadline(parks::by_claim));
  EXPECT_FALSE(r.failed) << r;
}

TEST(claim, a_grant_is_never_lost) {
  for (const unsigned granters : {1U, 2U}) {
    const model::report r = model::explore("claim, park and grant", {}, parks_and_grants(granters));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(claim, a_grant_that_opens_the_claim_is_never_lost) {
  for (const unsigned granters : {1U, 2U}) {
    const model::report r = model::explore("claim, park for a grant", {}, parks_for_grants(granters));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(claim, a_grant_or_the_end_makes_ready) {
  const model::report r = model::explore("claim, park for a grant, and the end", {}, grant_and_end());
  EXPECT_FALSE(r.failed) << r;
}

TEST(claim, each_order_of_a_wait_matters) {
  const model::weakened w =
      model::weaken_each("claim, waker and deadline", "claim.hpp", {}, waker_and_deadline(parks::by_claim));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

TEST(claim, each_order_of_a_grant_matters) {
  const model::weakened w = model::weaken_each("claim, park and grant", "claim.hpp", {}, parks_and_grants(1));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

TEST(claim, each_order_of_a_grant_that_opens_the_claim_matters) {
  const model::weakened w =
      model::weaken_each("claim, park for a grant", "claim.hpp", {}, parks_for_grants(2));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

TEST(claim, a_lost_wake_is_found) {
  const model::report r = model::explore("claim, parked blindly", {}, waker_and_deadline(parks::blindly));
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.starts_with("deadlock")) << r;
}

}  // namespace
