// Actors that pass tokens to each other and back, with stacks and without, while they are stopped, cancelled,
// linked, watched and restarted at any time. Each token is destroyed once, and each end is reported once.
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "sennit/actor.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/mutex.hpp"
#include "sennit/stop_guard.hpp"
#include "sennit/supervisor.hpp"
#include "stress/stress.hpp"

namespace stress {

using namespace sennit;
using namespace std::chrono_literals;

namespace {

struct misfortune {};

struct ball {
  std::shared_ptr<token> counted;
  unsigned hops;
};
struct question {
  promise<unsigned> reply;
};
using letter = std::variant<ball, question>;

struct company {
  explicit company(episode& of) : e(of) {}
  episode& e;
  mutex lock;
  std::vector<actor_ref<letter>> all;  // protected by it
};

// A member of the company, as a behaviour of both kinds. The company outlives the runtime's fibers with it.
class player {
public:
  player(std::shared_ptr<company> in, std::uint64_t seed) : in_(std::move(in)), random_(seed) {}

  void operator()(letter& next) {
    if (auto* thrown = std::get_if<ball>(&next))
      pass_on(*thrown);
    else
      answer(std::get<question>(next));
    ++all.progress;
  }

private:
  void pass_on(ball& thrown) {
    if (random_.one_in(30))
      throw misfortune{};
    if (random_.one_in(8))
      this_fiber::yield();
    if (thrown.hops == 0)
      return;
    letter next = ball{std::move(thrown.counted), thrown.hops - 1};
    actor_ref<letter> to;
    {
      const std::lock_guard hold(in_->lock);
      if (in_->all.empty())
        return;
      to = in_->all[random_.below(static_cast<unsigned>(in_->all.size()))];
    }
    if (random_.one_in(4))
      static_cast<void>(to.send_until(std::move(next), std::chrono::steady_clock::now() + 50us));
    else
      to.try_send(next);
  }
  void answer(question& asked) {
    if (!random_.one_in(5))
      asked.reply.set_value(1);
  }

  std::shared_ptr<company> in_;
  random_source random_;
};

struct with_stack {
  player one;
  void operator()(inbox<letter>& in) {
    while (auto next = in.receive())
      one(*next);
  }
};
struct without_stack {
  player one;
  void operator()(letter next) { one(next); }
};

void play(const std::shared_ptr<company>& in, const std::vector<actor_ref<letter>>& players,
          random_source& random) {
  for (unsigned i = 10 + random.below(40); i != 0; --i) {
    const auto& one = players[random.below(static_cast<unsigned>(players.size()))];
    const auto& other = players[random.below(static_cast<unsigned>(players.size()))];
    switch (random.below(20)) {
      case 0:
        one.stop();
        break;
      case 1:
        one.cancel();
        break;
      case 2:
        one.link(other);
        break;
      case 3:
        static_cast<void>(one.wait_for(std::chrono::microseconds(random.below(50))));
        break;
      case 4:
      case 5:
        static_cast<void>(one.ask_for<unsigned>([](auto reply) { return question{std::move(reply)}; },
                                                std::chrono::microseconds(random.below(300))));
        break;
      default: {
        letter next = ball{std::make_shared<token>(in->e), random.below(20)};
        if (random.one_in(3))
          one.try_send(next);
        else
          static_cast<void>(one.send_until(std::move(next), std::chrono::steady_clock::now() + 100us));
      }
    }
    if (random.one_in(5))
      hop(in->e, random);
    ++all.progress;
  }
}

// `make(player)` starts an actor.
template <class Make>
void employ(episode& e, random_source& random, int count, bool supervised, Make make) {
  const auto in = std::make_shared<company>(e);
  const auto ends = std::make_shared<counting_semaphore>(0);  // that the watcher has counted
  const auto watcher = spawn_actor<exit_reason>([ends](exit_reason) { ends->release(); });
  std::vector<actor_ref<letter>> players;
  try {
    for (int i = 0; i < count; ++i) {
      players.push_back(make(player(in, random.next())));
      players.back().monitor(watcher, [](const actor_exit& exit) { return exit.reason; });
    }
    {
      const std::lock_guard hold(in->lock);
      in->all = players;
    }
    play(in, players, random);
  } catch (const misfortune&) {
    check(e, supervised, "an actor's failure has left it");
  }
  // The owner of a supervisor that has given up waits all the same.
  const stop_shield until_all_have_ended;
  std::vector<actor_ref<letter>> known;  // they know each other, so they do not end by themselves
  {
    const std::lock_guard hold(in->lock);
    known.swap(in->all);
  }
  for (const auto& each : players)
    random.one_in(2) ? each.stop() : each.cancel();
  for (const auto& each : players) {
    const actor_exit exit = each.wait();
    check(e, (exit.error != nullptr) == (exit.reason == exit_reason::failed), "a reason is wrong");
    letter late = ball{nullptr, 0};
    check(e, !each.try_send(late), "an actor that has ended took a message");
  }
  for (std::size_t i = 0; i < players.size(); ++i)
    ends->acquire();
  watcher.stop();
  watcher.wait();
  ++all.progress;
}

}  // namespace

void stress_actors(episode& e, random_source& random) {
  const int count = 2 + static_cast<int>(random.below(6));
  if (!may_start(e, 3 * count))
    return;
  const auto start = [&random](const player& one, auto spawn) {
    const actor_options options{.mailbox = std::array<std::size_t, 3>{1, 3, 64}[random.below(3)]};
    return random.one_in(2) ? spawn(with_stack{one}, options) : spawn(without_stack{one}, options);
  };
  if (random.one_in(2)) {
    employ(e, random, count, false, [&](const player& one) {
      return start(one, [](auto behaviour, const actor_options& options) {
        return spawn_actor<letter>(std::move(behaviour), options);
      });
    });
    return;
  }
  try {
    supervisor family({.policy = static_cast<restart_policy>(random.below(3)),
                       .restarts = 1 + random.below(4),
                       .period = 1h});
    employ(e, random, count, true, [&](const player& one) {
      return start(one, [&family](auto behaviour, const actor_options& options) {
        return family.spawn<letter>(std::move(behaviour), options);
      });
    });
  } catch (const misfortune&) {
    ++all.exceptions;
  }
}

}  // namespace stress
