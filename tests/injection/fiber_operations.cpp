// Operations of fibers: spawning, scopes, waits, continuations, calls.
#include <csignal>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kinds.hpp"
#include "sennit/become.hpp"
#include "sennit/dump.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/fiber_local.hpp"
#include "sennit/future.hpp"
#include "sennit/local/exception_server.hpp"
#include "sennit/select.hpp"
#include "sennit/stacks.hpp"
#include "sennit/stop_guard.hpp"

namespace injection {

namespace {

using namespace std::chrono_literals;

template <class Kind>
void spawn() {
  in_fiber<Kind>([] {
    int ran = 0;
    attempt([&] {
      const std::array<char, 2000> large{};
      Kind::spawn([&ran] { ++ran; }).join();
      Kind::spawn([&ran, large] { ran += large[0]; }).join();
      Kind::spawn([&ran] { ++ran; }, {.name = "large", .stack_size = 256 * 1024}).join();
      Kind::spawn([&ran] { ++ran; }, {.guard_size = 4096}).join();
      must(ran == 3);
    });
  });
}

template <class Kind>
void spawn_many() {
  in_fiber<Kind>([] {
    std::vector<typename Kind::fiber> fibers;
    fibers.reserve(40);
    typename Kind::event end;
    attempt([&] {
      for (int i = 0; i < 40; ++i)
        fibers.push_back(Kind::spawn([&end] { end.wait(); }));
    });
    end.set();
    for (auto& each : fibers)
      each.join();
  });
}

template <class Kind>
void spawn_on_own_stack() {
  in_fiber<Kind>([] {
    alignas(16) static std::array<std::byte, 64 * 1024> memory;
    attempt([] { Kind::spawn([] {}, {.stack = memory}).join(); });
  });
}

// What a fiber throws while there is no memory reaches its joiner: as it is, or as std::bad_alloc.
template <class Kind>
void fiber_throws() {
  in_fiber<Kind>([] {
    attempt([] {
      auto thrower = Kind::spawn([] { throw std::system_error(ENOMEM, std::generic_category()); });
      Kind::spawn([] {}).join();
      try {
        thrower.join();
      } catch (const std::system_error& error) {
        if (error.code().value() != ENOMEM || error.code().category() != std::generic_category())
          std::abort();
        return;
      }
      std::abort();
    });
  });
}

template <class Kind>
void scope() {
  in_fiber<Kind>([] {
    std::atomic<int> ran{0};
    attempt([&] {
      typename Kind::scope scope;
      scope.spawn([&ran] { ++ran; });
      scope.spawn([&ran] { ++ran; });
      scope.spawn(
          sennit::become(sennit::this_fiber::yielding(), [](std::atomic<int>* all) { ++*all; }, &ran));
      scope.join();
      must(ran == 3);
    });
  });
}

template <class Kind>
void scope_fails() {
  in_fiber<Kind>([] {
    typename Kind::event never;
    attempt([&] {
      typename Kind::scope scope;
      scope.spawn([&] { never.wait(); });
      scope.spawn([] { throw std::system_error(ENOMEM, std::generic_category()); });
      try {
        scope.join();
      } catch (const std::system_error& error) {
        if (error.code().value() != ENOMEM)
          throw;
        return;
      }
      std::abort();
    });
  });
}

template <class Kind>
void guard() {
  in_fiber<Kind>([] {
    std::stop_source source;
    typename Kind::event never;
    source.request_stop();
    attempt([&] {
      try {
        const sennit::stop_guard guard(source.get_token());
        never.wait();
      } catch (const sennit::cancelled&) {
        return;
      }
      std::abort();
    });
  });
}

template <class Kind>
void wait() {
  in_fiber<Kind>([] {
    typename Kind::mutex mutex;
    typename Kind::condition_variable changed;
    typename Kind::event event;
    attempt([&] {
      typename Kind::template channel<std::array<char, 300>> texts(2);
      bool ready = false;
      auto other = Kind::spawn([&] {
        texts.send({});
        event.wait_for(1ms);
        const std::lock_guard hold(mutex);
        ready = true;
        changed.notify_all();
      });
      struct joins {
        ~joins() { of.join(); }
        typename Kind::fiber& of;
      } const end{other};
      std::unique_lock hold(mutex);
      must(!changed.wait_for(hold, 1ms, [] { return false; }));
      changed.wait(hold, [&] { return ready; });
      hold.unlock();
      must(texts.receive().has_value());
      must(sennit::select(sennit::on_receive(texts, [](auto) {}), sennit::on_timeout(1ms, [] {})) == 1);
    });
  });
}

template <class Kind>
void become() {
  in_fiber<Kind>([] {
    attempt([] {
      struct state {
        int* ran;
        std::array<char, 1000> more;
      };
      int ran = 0;
      typename Kind::event event;
      auto small = Kind::spawn([&ran, &event]() -> sennit::continuation {
        return sennit::become(event.waiting(), [](int* all) { ++*all; }, &ran);
      });
      struct joins {
        ~joins() {
          set.set();
          of.join();
        }
        typename Kind::event& set;
        typename Kind::fiber& of;
      } const end{event, small};
      auto large = Kind::spawn(
          [&ran, &event]() -> sennit::continuation {
            return sennit::become(
                event.waiting_until(sennit::detail::clock::now() + 1ms),
                [](const state& kept, bool) { ++*kept.ran; }, state{&ran, {}});
          },
          {.name = "large"});
      large.join();
      must(ran == 1);
    });
  });
}

template <class Kind>
void stoppable() {
  typename Kind::runtime runtime(Kind::usual());
  typename Kind::event never;
  std::stop_source source;
  source.request_stop();
  int ran = 0;
  attempt([&] {
    runtime.run([&] {
      auto stopped = Kind::spawn([&]() -> sennit::continuation {
        return sennit::become(
            sennit::stoppable(never.waiting(), source.get_token()), [](int* all, bool) { ++*all; }, &ran);
      });
      stopped.join();
    });
    must(ran == 1);
  });
}

template <class Kind>
void yield_continuation() {
  in_fiber<Kind>([] {
    attempt([] {
      Kind::spawn([] {
        sennit::this_fiber::set_yield_continuation([](const std::array<char, 100>&) {},
                                                   std::array<char, 100>{});
        sennit::this_fiber::clear_yield_continuation();
      }).join();
    });
  });
}

void dump_on_signal() {
  attempt([] { sennit::dump_on_signal(SIGUSR2); });
}

template <class Kind>
void measure_stacks() {
  in_fiber<Kind>([] {
    attempt([] {
      sennit::measure_stacks(true);
      Kind::spawn([] {}, {.name = "measured"}).join();
      must(!sennit::stack_usages().empty());
    });
    sennit::measure_stacks(false);
  });
}

template <class Kind>
void call() {
  in_fiber<Kind>([] {
    attempt([] {
      typename Kind::port squares;
      auto server = Kind::spawn([&] { squares.serve([](int x) { return x * x; }); });
      struct closes {
        ~closes() {
          of.close();
          server.join();
        }
        typename Kind::port& of;
        typename Kind::fiber& server;
      } const end{squares, server};
      must(squares.call(7) == 49);
      must(squares.call_for(8, 10s) == 64);
    });
  });
}

template <class Kind>
void upcalls() {
  in_fiber<Kind>([] {
    attempt([] {
      typename Kind::upcall_pool pool({.fibers = 2, .events = 4});
      typename Kind::event came;
      must(pool.post([&came] { came.set(); }));
      came.wait();
    });
  });
}

template <class Kind>
void fiber_values() {
  static sennit::fiber_local<std::string> text;
  in_fiber<Kind>([] { attempt([] { Kind::spawn([] {}).join(), *text = std::string(100, 'x'); }); });
}

void exception_server() {
  in_fiber<parallel>([] {
    attempt([] {
      sennit::exception_server server;
      const sennit::exception_guard guard(server);
      server.close();
      must(!server.receive());
    });
  });
}

void future() {
  in_fiber<parallel>([] {
    attempt([] {
      sennit::promise<std::string> promise;
      auto text = promise.get_future();
      promise.set_value(std::string(100, 'x'));
      must(text.get().size() == 100);
      sennit::promise<int> broken;
      auto none = broken.get_future();
      broken.set_exception(std::make_exception_ptr(1));
      try {
        none.get();
      } catch (int) {
        return;
      }
      std::abort();
    });
  });
}

// If there is no memory for a mailbox, each send waits for its receive.
template <class Kind>
void actors() {
  using request = std::variant<int, sennit::detail::basic_promise<int, typename Kind::policy>>;
  using inbox = typename Kind::template inbox<request>;
  in_fiber<Kind>([] {
    const auto handle = [](int& sum, request& next) {
      if (next.index() == 0)
        sum += std::get<0>(next);
      else
        std::get<1>(next).set_value(sum);
    };
    attempt([&] {
      auto with = Kind::template spawn_actor<request>([handle](inbox& in) {
        for (int sum = 0; auto next = in.receive();)
          handle(sum, *next);
      });
      typename Kind::supervisor family;
      auto without =
          family.template spawn<request>([handle, sum = 0](request next) mutable { handle(sum, next); });
      with.link(without);
      with.monitor(without, [](const sennit::actor_exit&) { return request(1); });
      for (int i = 0; i < 3; ++i)
        must(with.send(request(1)) && without.send(request(1)));
      for (auto* each : {&with, &without})
        must(each->template ask<int>([](auto reply) { return request(std::move(reply)); }).value_or(0) >= 3);
      with.cancel();
      with.wait();
    });
  });
}

template <class Kind>
void add_kind(std::vector<operation>& all, const std::array<std::string_view, 17>& names) {
  void (*const runs[17])() = {spawn<Kind>,
                              spawn_many<Kind>,
                              spawn_on_own_stack<Kind>,
                              fiber_throws<Kind>,
                              scope<Kind>,
                              scope_fails<Kind>,
                              guard<Kind>,
                              wait<Kind>,
                              become<Kind>,
                              call<Kind>,
                              upcalls<Kind>,
                              fiber_values<Kind>,
                              stoppable<Kind>,
                              yield_continuation<Kind>,
                              measure_stacks<Kind>,
                              actors<Kind>,
                              nullptr};
  for (std::size_t i = 0; runs[i] != nullptr; ++i)
    all.push_back({names[i], runs[i]});
}

}  // namespace

void add_fiber_operations(std::vector<operation>& all) {
  add_kind<parallel>(all, {"parallel: spawn", "parallel: spawn many", "parallel: spawn on a stack of its own",
                           "parallel: fiber that throws", "parallel: scope", "parallel: scope that fails",
                           "parallel: stop_guard", "parallel: wait", "parallel: become", "parallel: port",
                           "parallel: upcall_pool", "parallel: fiber_local", "parallel: stoppable",
                           "parallel: yield continuation", "parallel: stack usage", "parallel: actors"});
  add_kind<local>(all,
                  {"local: spawn", "local: spawn many", "local: spawn on a stack of its own",
                   "local: fiber that throws", "local: scope", "local: scope that fails", "local: stop_guard",
                   "local: wait", "local: become", "local: port", "local: upcall_pool", "local: fiber_local",
                   "local: stoppable", "local: yield continuation", "local: stack usage", "local: actors"});
  all.push_back({"dump_on_signal", dump_on_signal});
  all.push_back({"exception server", exception_server});
  all.push_back({"future", future});
}

}  // namespace injection
