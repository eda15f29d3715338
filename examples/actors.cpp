// Workers that parse numbers, each an actor. A word that is no number makes its worker fail, and the
// supervisor starts it again. A collector adds the numbers up, and answers when all workers have ended.
//
//   actors 40 two 2 three
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sennit/actor.hpp"
#include "sennit/runtime.hpp"
#include "sennit/supervisor.hpp"

namespace {

using namespace std::chrono_literals;

struct number {
  int value;
};
struct worker_ended {
  sennit::exit_reason reason;
};
struct total {
  sennit::promise<int> reply;
};
using to_collector = std::variant<number, worker_ended, total>;

// It is called for each message, and has no stack while it waits: its members are its state.
class collector {
public:
  explicit collector(int workers) : running_(workers) {}

  void operator()(to_collector message) {
    std::visit([this](auto& what) { handle(what); }, message);
    if (running_ == 0 && reply_)
      std::exchange(reply_, std::nullopt)->set_value(sum_);
  }

private:
  void handle(const number& found) { sum_ += found.value; }
  void handle(const worker_ended&) { --running_; }
  void handle(total& asked) { reply_ = std::move(asked.reply); }

  int running_;
  int sum_ = 0;
  std::optional<sennit::promise<int>> reply_;
};

// It has a stack, and so a loop.
class worker {
public:
  explicit worker(sennit::actor_ref<to_collector> results) : results_(std::move(results)) {}

  void operator()(sennit::inbox<std::string>& inbox) {
    while (std::optional<std::string> word = inbox.receive())
      results_.send(number{std::stoi(*word)});  // throws if it is no number
  }

private:
  sennit::actor_ref<to_collector> results_;
};

void add_up(const std::vector<std::string>& words) {
  constexpr int count = 3;
  const auto results = sennit::spawn_actor<to_collector>(collector(count));
  sennit::supervisor workers({.restarts = 1000, .period = 1min});
  {
    std::vector<sennit::actor_ref<std::string>> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(workers.spawn<std::string>(worker(results)));
      all.back().monitor(results, [](const sennit::actor_exit& exit) { return worker_ended{exit.reason}; });
    }
    for (std::size_t i = 0; i < words.size(); ++i)
      all[i % all.size()].send(words[i]);
  }  // no reference is left: the workers end when they have handled what is queued
  const auto sum = results.ask_for<int>([](auto reply) { return total{std::move(reply)}; }, 10s);
  if (sum)
    std::printf("the sum is %d, %zu words were no numbers\n", *sum, workers.restarts());
  else
    std::printf("no answer\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  sennit::runtime().run([&] { add_up(words); });
}
