// Sennit: its own idiom, park and unpark, with the token and the fiber's handle in the node. `condvar`: the
// mailbox of mutex and condition variable; `channel`: one for each. `continuation`: as the first, and a fiber
// that has passed the token on blocks without a stack until it is unparked. `actor`: each node is an actor
// with a stack, `actor-stackless`: or without one. `raw` is no runtime: a ring of bare contexts on the same
// stacks, each of which switches to the next, whose context lies in its node; in `raw-apart` it lies where a
// runtime has it, in a descriptor apart from what the fiber works on. What the others cost above that is
// scheduling. `uncoloured`: as `condvar`, but the tops of all stacks lie at one offset of their pages
// (docs/explanation/stacks.md).
#include "threadring.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

#include "../peers/park_mailbox.hpp"
#include "../peers/sennit-kinds.hpp"
#include "sennit/become.hpp"
#include "sennit/detail/arch/context.h"
#include "sennit/detail/stack/stack.hpp"

namespace {

class channel_mailbox {
public:
  BENCH_INLINE void put(std::uint64_t token) { channel_.send(token); }
  BENCH_INLINE std::uint64_t take() { return *channel_.receive(); }

private:
  sennit::local::channel<std::uint64_t> channel_{1};
};

// `Context`: a sennit_context in the node, or apart (bare_descriptor).
struct alignas(128) bare_descriptor {
  sennit_context context;
};
inline sennit_context& context_of(sennit_context& here) {
  return here;
}
inline sennit_context& context_of(std::unique_ptr<bare_descriptor>& apart) {
  return apart->context;
}
template <class Context>
struct raw_node {
  Context context;
  raw_node* next;
  sennit_context* host;
  std::size_t index;

  static BENCH_INLINE void run(void* argument) {
    auto& self = *static_cast<raw_node*>(argument);
    std::uint64_t token = sennit_swapstack_saving(*self.host, 0, &context_of(self.context));
    while (token != UINT64_MAX) {  // for ever: no token is that large
      const sennit_context target = token == 0 ? *self.host : context_of(self.next->context);
      token = sennit_swapstack_saving(target, token - 1, &context_of(self.context));
    }
  }

  static void enter(sennit_context, std::uintptr_t self, std::uintptr_t, std::uintptr_t,
                    std::uintptr_t) noexcept {
    auto* const node = reinterpret_cast<raw_node*>(self);
    bench::distinct_entry<raw_node>(node->index)(node);
  }
};

// Fibers without a stack. `Kind`: its `fiber`, `event` and `spawn`.
template <class Kind>
class stackless_ring {
public:
  explicit stackless_ring(std::size_t n) : nodes_(n) {
    link_in_memory_order();
    for (std::size_t i = 0; i < n; ++i)
      nodes_[i].fiber = Kind::spawn(sennit::become(functions[i % functions.size()], &nodes_[i]));
  }
  ~stackless_ring() {
    give(nodes_.front(), stop);
    for (node& each : nodes_)
      each.fiber.join();
  }
  void link_in_memory_order() { link(order()); }
  void link_in_random_order() {
    std::vector<std::size_t> shuffled = order();
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937_64(1));
    link(shuffled);
  }
  void pass(std::uint64_t hops) {
    give(nodes_.front(), hops);
    done_.wait();
    done_.reset();
  }

private:
  static constexpr std::uint64_t stop = UINT64_MAX;
  struct node {
    std::uint64_t token = 0;
    node* next = nullptr;
    stackless_ring* owner = nullptr;
    typename Kind::fiber fiber;
  };

  static void give(node& to, std::uint64_t token) {
    to.token = token;
    to.fiber.unpark();
  }

  template <std::size_t Number>
  static sennit::continuation step(node* self) {
    const std::uint64_t token = self->token;
    if (token == 0)
      self->owner->done_.set();
    else if (token != stop)
      give(*self->next, token - 1);
    else if (self->next != &self->owner->nodes_.front())
      give(*self->next, stop);
    return token != stop ? sennit::become(step<Number>, self) : sennit::continuation();
  }
  template <std::size_t... Numbers>
  static constexpr auto steps(std::index_sequence<Numbers...>) {
    return std::array{step<Numbers>...};
  }
  static constexpr auto functions = steps(std::make_index_sequence<16>());

  std::vector<std::size_t> order() const {
    std::vector<std::size_t> all(nodes_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  void link(const std::vector<std::size_t>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      nodes_[order[i]].owner = this;
      nodes_[order[i]].next = &nodes_[order[(i + 1) % order.size()]];
    }
  }

  std::vector<node> nodes_;
  typename Kind::event done_;
};

// A ring of actors, each of which has the next one's address.
template <class Kind, bool has_stack>
class actor_ring {
public:
  explicit actor_ring(std::size_t n) : nodes_(n), order_(n) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    link();
    for (std::size_t i = 0; i < n; ++i)
      nodes_[i].self = begins[i % begins.size()](nodes_[i], done_);
  }
  ~actor_ring() {
    for (node& each : nodes_) {
      each.self.stop();
      each.self.wait();
    }
  }
  void link_in_random_order() {
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(1));
    link();
  }
  void pass(std::uint64_t hops) {
    nodes_.front().self.send(hops);
    done_.wait();
    done_.reset();
  }

private:
  using reference = typename Kind::template actor_ref<std::uint64_t>;
  using inbox = typename Kind::template inbox<std::uint64_t>;
  using event = typename Kind::event;
  struct node {
    reference self;
    node* next = nullptr;
    event* done = nullptr;
  };

  BENCH_INLINE static void pass_on(node& at, std::uint64_t token) {
    if (token == 0)
      at.done->set();
    else
      at.next->self.send(token - 1);
  }
  template <std::size_t>
  static reference begin(node& at, event& done) {
    at.done = &done;
    if constexpr (has_stack)
      return Kind::template spawn_actor<std::uint64_t>([&at](inbox& in) {
        while (const auto token = in.receive())
          pass_on(at, *token);
      });
    else
      return Kind::template spawn_actor<std::uint64_t>([&at](std::uint64_t token) { pass_on(at, token); });
  }
  template <std::size_t... Numbers>
  static constexpr auto all_begins(std::index_sequence<Numbers...>) {
    return std::array{begin<Numbers>...};
  }
  static constexpr auto begins = all_begins(std::make_index_sequence<16>());

  void link() {
    for (std::size_t i = 0; i < order_.size(); ++i)
      nodes_[order_[i]].next = &nodes_[order_[(i + 1) % order_.size()]];
  }

  event done_;
  std::vector<node> nodes_;
  std::vector<std::size_t> order_;
};

using bench::local_kind;
using bench::parallel_kind;

template <class Context>
void link(std::vector<raw_node<Context>>& nodes, const std::vector<std::size_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    nodes[order[i]].next = &nodes[order[(i + 1) % order.size()]];
}

template <class Context>
void measure_raw(bench::program& program, const char* variant, std::size_t stack_size) {
  if (!program.wants(variant))
    return;
  for (const long n : program.values("n")) {
    std::vector<raw_node<Context>> nodes(static_cast<std::size_t>(n));
    std::vector<sennit::detail::stack_memory> stacks;
    sennit_context host;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      stacks.push_back(sennit::detail::stack_take(stack_size));
      void* const top = stacks.back().high() - 512 - i % 16 * 192;  // as the runtime's, with its frame above
      if constexpr (!std::is_same_v<Context, sennit_context>)
        nodes[i].context = std::make_unique<bare_descriptor>();
      nodes[i].host = &host;
      nodes[i].index = i;
      context_of(nodes[i].context) = sennit_newstack(top, raw_node<Context>::enter);
      sennit_swapstack_saving(context_of(nodes[i].context), reinterpret_cast<std::uintptr_t>(&nodes[i]),
                              &host);
    }
    const auto lap = [&](std::uint64_t laps) {
      sennit_swapstack_saving(context_of(nodes[0].context), laps * nodes.size(), &host);
    };
    std::vector<std::size_t> order(nodes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (const char* name : {"memory", "random"}) {
      link(nodes, order);
      program.measure_rate(variant, {{"n", n}, {"order", name}}, "hop", static_cast<double>(n), lap);
      std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    }
    for (const auto& each : stacks)
      sennit::detail::stack_give(each);
  }
}

}  // namespace

int main(int argc, char** argv) {
  using local = bench::sennit_local;
  using parallel = bench::sennit_parallel;
  constexpr std::size_t stack_size = 8 * 1024;
  bench::program program(argc, argv, bench::sennit_version,
                         "fifo, 8 KiB pooled stacks; parallel on 1 worker: the second one sleeps",
                         bench::threadring_parameters());

  const auto measure = [&] {
    bench::measure_threadring<local,
                              bench::park_mailbox<sennit::local::this_fiber::park, sennit::local::fiber>>(
        program, "local", stack_size);
    bench::measure_threadring<local>(program, "local-condvar", stack_size);
    bench::measure_threadring<local, channel_mailbox>(program, "local-channel", stack_size);
    bench::measure_ring<actor_ring<local_kind, true>>(program, "local-actor", {INT64_MAX, ""});
    bench::measure_ring<actor_ring<local_kind, false>>(program, "local-actor-stackless", {INT64_MAX, ""});
    bench::measure_ring<stackless_ring<local_kind>>(program, "local-continuation", {INT64_MAX, ""});
  };
  if (program.workers() == 1) {
    local::run(measure, sennit::run_policy::fifo, stack_size);
    const std::size_t colours = std::exchange(sennit::detail::stack_colours, 1);
    local::run([&] { bench::measure_threadring<local>(program, "local-uncoloured", stack_size); },
               sennit::run_policy::fifo, stack_size);
    sennit::detail::stack_colours = colours;
    measure_raw<sennit_context>(program, "raw", stack_size);
    measure_raw<std::unique_ptr<bare_descriptor>>(program, "raw-apart", stack_size);
  }
  const auto measure_parallel = [&] {
    bench::measure_threadring<parallel, bench::park_mailbox<sennit::this_fiber::park, sennit::fiber>>(
        program, "parallel", stack_size);
    bench::measure_ring<actor_ring<parallel_kind, true>>(program, "parallel-actor", {INT64_MAX, ""});
    bench::measure_ring<actor_ring<parallel_kind, false>>(program, "parallel-actor-stackless",
                                                          {INT64_MAX, ""});
    bench::measure_ring<stackless_ring<parallel_kind>>(program, "parallel-continuation", {INT64_MAX, ""});
  };
  parallel::run(program.workers(), bench::second_worker::sleeps, measure_parallel, stack_size);
}
