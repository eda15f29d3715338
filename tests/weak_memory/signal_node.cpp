// Signal handlers that run while a subscription ends, and its node is taken by another one.
//
// header: include/sennit/detail/io/signal_node.hpp
// survives: pending.fetch_or(bit, std::memory_order_release); -> relaxed
// survives: wanted.store(signals, std::memory_order_seq_cst); -> release
// scene 1 handler: -DHANDLERS=1
// scene 2 handlers: -DHANDLERS=2
// scene no wait: -DHANDLERS=1 -DNO_WAIT  fails
#include "sennit/detail/io/signal_node.hpp"

#include "weak.hpp"

constinit sennit::detail::basic_signal_node<weak::memory> node;
// Descriptor d is open while is_open[d]; to close it while a handler writes to it is a race.
bool is_open[2];

void handle() {
  node.deliver(1, [](int event) {
    assert(event == 0 || event == 1);
    assert(is_open[event]);
  });
}

void end_and_begin() {
#if defined(NO_WAIT)
  node.wanted.exchange(0, std::memory_order_seq_cst);
#else
  node.unpublish();
#endif
  is_open[0] = false;
  is_open[1] = true;
  node.publish(1, 3);
}

int main() {
  is_open[0] = true;
  node.publish(0, 1);
#if HANDLERS == 2
  weak::run(end_and_begin, handle, handle);
#else
  weak::run(end_and_begin, handle);
#endif
  assert(node.inside.load(std::memory_order_relaxed) == 0);
}
