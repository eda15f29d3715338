// A wait that a waker or a requested stop ends.
#include <tuple>

#include "model.hpp"
#include "sennit/detail/sched/claim.hpp"
#include "sennit/detail/sched/stop_word.hpp"

namespace {

using sennit::detail::claim_result;
using sennit::detail::claim_state;

using claim = sennit::detail::basic_claim<model::memory>;
using stop_word = sennit::detail::basic_stop_word<model::memory>;

enum class leaves { when_told, too_soon };

// The wait's frame is there while `frame` is 1. Whoever comes first ends the wait; a stop that was requested
// is seen by the next.
auto waker_and_stop(leaves how, bool waker) {
  return [=](model::run& run) {
    claim wait;
    stop_word word;
    model::gate ready;
    model::plain<int> frame{0};
    model::plain<int> stopped{0};
    constexpr std::uintptr_t me = 64;
    const auto end = [&](claim_state as) { return wait.take(as) == claim_result::won; };
    run.thread([&] {
      if (word.is_requested())
        MODEL_CHECK(stopped == 1);
      frame = 1;
      bool told = !word.enter(me);
      if (told)
        wait.take(claim_state::timed_out);
      if (wait.park())
        ready.wait();
      if (!told && how == leaves::when_told)
        told = !word.leave(me);
      frame = 2;
      if (wait.state() != claim_state::taken || !waker) {
        MODEL_CHECK(wait.state() == claim_state::timed_out);
        if (how == leaves::when_told) {
          MODEL_CHECK(told);
          MODEL_CHECK(word.is_requested());
        }
      }
      if (told)
        MODEL_CHECK(stopped == 1);
    });
    run.thread([&] {
      stopped = 1;
      bool wake = false;
      if (word.begin_delivery() == me) {
        MODEL_CHECK(frame == 1);
        wake = end(claim_state::timed_out);
        MODEL_CHECK(frame == 1);
      }
      word.end_delivery();
      if (wake)
        ready.signal();
    });
    if (waker)
      run.thread([&] {
        if (end(claim_state::taken))
          ready.signal();
      });
    run.join();
    MODEL_CHECK(word.is_requested());
  };
}

TEST(stop, ends_a_wait_once_and_touches_it_no_more) {
  for (const bool waker : {false, true}) {
    const model::report r = model::explore("stop, of a wait", {}, waker_and_stop(leaves::when_told, waker));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(stop, each_order_matters) {
  const model::weakened w =
      model::weaken_each("stop, of a wait", "stop_word.hpp", {}, waker_and_stop(leaves::when_told, true));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

TEST(stop, who_leaves_too_soon_is_found) {
  const model::report r = model::explore("stop, left too soon", {}, waker_and_stop(leaves::too_soon, true));
  EXPECT_TRUE(r.failed);
}

}  // namespace
