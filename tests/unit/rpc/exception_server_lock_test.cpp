// Faults in the moves that channels, ports and promises make with their locks held, or half changed: they end
// the process, though a server would kill the fiber, and leave the lock taken.
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <utility>

#include "exception_servers.hpp"
#include "sennit/no_yield_guard.hpp"
#include "sennit/select.hpp"

namespace sennit {
namespace {

// Faults in a move: the how many'th, from where it was made. 0: in none.
struct bomb {
  explicit bomb(int after = 0) : moves_left(after) {}
  bomb(bomb&& other) noexcept : moves_left(other.moves_left) {
    if (moves_left != 0 && --moves_left == 0)
      write_to(nowhere);
  }
  bomb& operator=(bomb&&) = delete;
  ~bomb() = default;
  int moves_left;
};

// Faults where it is destroyed.
struct last_bomb {
  explicit last_bomb(bool is_live) : live(is_live) {}
  last_bomb(last_bomb&& other) noexcept : live(std::exchange(other.live, false)) {}
  ~last_bomb() {
    if (live)
      write_to(nowhere);
  }
  bool live;
};

// Faults where its size is asked for.
struct sized_by_code {
  bool live;
  friend std::size_t message_size(const sized_by_code& of) noexcept {
    if (of.live)
      write_to(nowhere);
    return sizeof of;
  }
};

constexpr int most_moves = 6;
const std::string not_to_yield = ", where it is not to yield\n";

template <class Kind>
class ExceptionServerLocks : public exception_servers<Kind> {
protected:
  using exception_server = typename Kind::exception_server;
  using bombs = typename Kind::template channel<bomb>;

  // A child in which a server kills whatever faults. It must not hang.
  template <class Function>
  static outcome with_killer(Function function) {
    return exception_servers<Kind>::dies([&] {
      ::alarm(20);
      exception_server server;
      const typename Kind::runtime_exception_guard all(server);
      std::stop_source stop;
      auto kills = Kind::spawn(
          [&] {
            const stop_guard until_stopped(stop.get_token());
            for (;;)
              server.receive().reply(verdict::kill);
          },
          {.name = "server"});
      function(server);
      stop.request_stop();
      kills.join();
    });
  }
  // What a server may kill.
  template <class Function>
  static void risk(exception_server& server, Function function) {
    try {
      guarded(server, function);
    } catch (const killed&) {
    }
  }
  template <class Function>
  static typename Kind::fiber at_risk(exception_server& server, Function function) {
    return Kind::spawn([&server, function] { risk(server, function); }, {.name = "faulty"});
  }

  // The fault in each move in turn. With the lock held it ends the process; elsewhere it ends only the fiber,
  // and `function` finds that others continue. It is in one of the moves with the lock held.
  template <class Function>
  static void each_move(Function function) {
    bool was_fatal = false;
    for (int after = 1; after <= most_moves; ++after) {
      const outcome result = with_killer([&](exception_server& server) { function(server, after); });
      ASSERT_TRUE(result.exited(0) || result.killed_by(SIGSEGV)) << "move " << after << ": " << result;
      was_fatal |= result.killed_by(SIGSEGV) && result.says(not_to_yield);
    }
    EXPECT_TRUE(was_fatal);
  }

  // A channel through which bombs go, and then others.
  template <class Send, class Receive>
  static void through_channel(std::size_t capacity, bool receiver_first, Send send, Receive receive) {
    each_move([=](exception_server& server, int after) {
      bombs through(capacity);
      const auto sends = [&through, send, after] { send(through, after); };
      const auto receives = [&through, receive] { receive(through); };
      auto first = receiver_first ? at_risk(server, receives) : at_risk(server, sends);
      Kind::sleep_for(std::chrono::milliseconds(1));
      auto second = receiver_first ? at_risk(server, sends) : at_risk(server, receives);
      Kind::sleep_for(std::chrono::milliseconds(1));
      auto others_send = Kind::spawn([&through] { through.send(bomb()); });
      auto others_receive = Kind::spawn([&through] { through.receive(); });
      others_send.join();
      through.close();  // there is none to be received, if the first was killed
      others_receive.join();
      first.join();
      second.join();
    });
  }
  static void send(bombs& to, int after) { to.send(bomb(after)); }
  static void receive(bombs& from) { from.receive(); }

  // A port served in each way; `call` calls it, and then another fiber, whose request is 0, does.
  template <class Request, class Reply, class Call, class Serve>
  static void through_port(Call call, Serve serve) {
    for (const bool server_first : {true, false})
      each_move([=](exception_server& server, int after) {
        typename Kind::template port<Request, Reply> through;
        const auto calls = [&through, call, after] { call(through, after); };
        const auto serves = [&through, serve] { through.serve(serve); };
        auto first = server_first ? Kind::spawn(serves) : at_risk(server, calls);
        Kind::sleep_for(std::chrono::milliseconds(1));
        auto second = server_first ? at_risk(server, calls) : Kind::spawn(serves);
        Kind::sleep_for(std::chrono::milliseconds(1));
        Kind::spawn([&through, call] { call(through, 0); }).join();
        through.close();
        first.join();
        second.join();
      });
  }
};

KIND_TEST(ExceptionServerLocks, WithWhoReceivesWaiting) {
  this->through_channel(0, true, this->send, this->receive);
}
KIND_TEST(ExceptionServerLocks, WithWhoSendsWaiting) {
  this->through_channel(0, false, this->send, this->receive);
}
KIND_TEST(ExceptionServerLocks, ThroughABuffer) {
  this->through_channel(1, false, this->send, this->receive);
}
KIND_TEST(ExceptionServerLocks, BySelects) {
  const auto send = [](auto& to, int after) { select(on_send(to, bomb(after), [](bool) {})); };
  const auto receive = [](auto& from) { select(on_receive(from, [](const auto&) {})); };
  this->through_channel(0, true, send, receive);
  this->through_channel(0, false, send, receive);
}

KIND_TEST(ExceptionServerLocks, InARequest) {
  this->template through_port<bomb, int>(
      [](auto& to, int after) {
        to.call_until(bomb(after), std::chrono::steady_clock::now() + std::chrono::hours(1));
      },
      [](bomb&&) { return 1; });
}
KIND_TEST(ExceptionServerLocks, InAReply) {
  this->template through_port<int, bomb>([](auto& to, int after) { to.call(after); },
                                         [](int after) { return bomb(after); });
}

// The caller files itself when it has left its stack.
KIND_TEST(ExceptionServerLocks, InARequestWithoutADeadline) {
  for (int after = 1; after <= most_moves; ++after) {
    const outcome result = this->with_killer([&](auto& server) {
      typename Kind::template port<bomb, int> through;
      auto serves = start<Kind>([&through] { through.serve([](bomb&&) { return 1; }); });
      this->at_risk(server, [&through, after] { through.call(bomb(after)); }).join();
      EXPECT_EQ(through.call(bomb()), 1);
      through.close();
      serves.join();
    });
    ASSERT_TRUE(result.exited(0) || result.killed_by(SIGSEGV)) << "move " << after << ": " << result;
  }
}

KIND_TEST(ExceptionServerLocks, InAPromise) {
  this->each_move([](auto& server, int after) {
    typename Kind::template promise<bomb> promise;
    auto promised = promise.get_future();
    ExceptionServerLocks<Kind>::at_risk(server, [&] { promise.set_value(bomb(after)); }).join();
    promised.wait();
    ExceptionServerLocks<Kind>::at_risk(server, [&] { promised.get(); }).join();
  });
}

// The server's side knows of the call still.
KIND_TEST(ExceptionServerLocks, InTheEndOfARequest) {
  const outcome result = this->with_killer([&](auto& server) {
    typename Kind::template port<last_bomb, int> through;
    auto caller = Kind::spawn([&through] { through.call(last_bomb(true)); });
    auto received = through.receive();
    this->at_risk(server, [&received] { received.reply(1); }).join();
    caller.join();
  });
  EXPECT_TRUE(result.killed_by(SIGSEGV) && result.says(not_to_yield)) << result;
}

KIND_TEST(ExceptionServerLocks, InTheSizeOfARequest) {
  const outcome result = this->with_killer([&](auto& server) {
    typename Kind::template port<sized_by_code, int> through;
    auto caller = this->at_risk(server, [&through] { through.call(sized_by_code{true}); });
    Kind::sleep_for(std::chrono::milliseconds(1));
    through.receive();
    caller.join();
  });
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

KIND_TEST(ExceptionServerLocks, InABarriersCompletion) {
  const outcome result = this->with_killer([&](auto& server) {
    auto round = Kind::barrier_with(1, [] { write_to(nowhere); });
    this->at_risk(server, [&round] { round.arrive_and_wait(); }).join();
    round.arrive_and_wait();
  });
  EXPECT_TRUE(result.killed_by(SIGSEGV) && result.says(not_to_yield)) << result;
}

// What was counted is counted back: faults elsewhere are served, as before.
KIND_TEST(ExceptionServerLocks, FaultsAfterItAreServed) {
  const outcome result = this->with_killer([&](auto& server) {
    typename Kind::template channel<bomb> through(1);
    typename Kind::template port<bomb, bomb> port;
    auto serves = Kind::spawn([&port] { port.serve([](bomb&&) { return bomb(); }); });
    this->at_risk(server,
                  [&] {
                    through.send(bomb());
                    through.receive();
                    port.call(bomb());
                    EXPECT_EQ(*detail::no_yield_count(), 0U);
                    EXPECT_THROW(guarded(server, [] { write_to(nowhere); }), killed);
                  })
        .join();
    port.close();
    serves.join();
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

// Values without code of their own take no part in it.
static_assert(!detail::has_nontrivial_move<int> && !detail::has_nontrivial_move<std::pair<int, int>>);
static_assert(detail::has_nontrivial_move<bomb> && detail::has_nontrivial_move<last_bomb>);

}  // namespace
}  // namespace sennit
