// Signal handlers that run while a subscription ends and its node is taken by another one.
#include "sennit/detail/io/signal_node.hpp"

#include "model.hpp"

namespace {

using node = sennit::detail::basic_signal_node<model::memory>;

enum class ends { orderly, without_waiting };

// Descriptor d is open while open[d]; to close it while a handler writes to it is a race.
auto subscriptions(unsigned handlers, ends how) {
  return [=](model::run& run) {
    node n;
    model::plain<bool> open[2];
    open[0] = true;
    n.publish(0, 1);
    for (unsigned h = 0; h < handlers; ++h)
      run.thread([&] {
        n.deliver(1, [&](int event) {
          MODEL_CHECK(event == 0 || event == 1);
          MODEL_CHECK(open[event]);
        });
      });
    run.thread([&] {
      if (how == ends::orderly)
        n.unpublish();
      else
        n.wanted.store(0, std::memory_order_seq_cst);
      open[0] = false;
      open[1] = true;
      n.publish(1, 3);
    });
    run.join();
    MODEL_CHECK(n.inside.load(std::memory_order_relaxed) == 0);
  };
}

TEST(signal_node, no_handler_uses_what_has_ended) {
  const model::weakened w =
      model::weaken_each("signal node, 2 handlers", "signal_node.hpp", {}, subscriptions(2, ends::orderly));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  // Stronger than they must be: to publish is seq_cst like its opposite; `pending` hands over nothing but
  // itself.
  EXPECT_EQ(w.survivors,
            (std::vector<std::string>{"store: seq_cst -> release", "update: release -> relaxed"}));
}

TEST(signal_node, an_end_that_does_not_wait_is_found) {
  const model::report r = model::explore("signal node, no wait", {}, subscriptions(1, ends::without_waiting));
  EXPECT_TRUE(r.failed);
}

}  // namespace
