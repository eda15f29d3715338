// A waiter that was served does not touch the object again: its owner destroys the object at once, and
// overwrites its memory. Of every kind of waiter. (AddressSanitizer sees reads, too.)
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/select.hpp"
#include "sennit/stop_guard.hpp"
#include "support/deadlines.hpp"
#include "support/kinds.hpp"
#include "support/sanitizers.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

// An object that is destroyed before its memory is looked at.
template <class T>
class doomed {
public:
  template <class... Arguments>
  explicit doomed(Arguments... arguments) : memory_(static_cast<unsigned char*>(std::malloc(sizeof(T)))) {
    ::new (memory_) T(arguments...);
  }
  doomed(const doomed&) = delete;
  doomed& operator=(const doomed&) = delete;
  ~doomed() {
#if !defined(SUPPORT_ASAN)
    EXPECT_TRUE(std::all_of(memory_, memory_ + sizeof(T), [](unsigned char each) { return each == 0x11; }))
        << "written to after its end";
    std::free(memory_);
#endif
  }
  T& operator*() { return *std::launder(reinterpret_cast<T*>(memory_)); }
  void destroy() {
    (**this).~T();
#if defined(SUPPORT_ASAN)
    std::free(memory_);
#else
    std::memset(memory_, 0x11, sizeof(T));
#endif
  }

private:
  unsigned char* memory_;
};

const std::string long_text(50, 'a');

// Kinds of waiter: each has run(f), which calls f in a fiber or a thread, and returns a handle with join().
template <class Kind>
struct in_fiber {
  template <class Function>
  static auto run(Function function) {
    return Kind::spawn(std::move(function));
  }
};
template <class Kind>
struct under_guard {
  template <class Function>
  static auto run(Function function) {
    return Kind::spawn([function]() mutable {
      std::stop_source stop;
      const stop_guard guard(stop.get_token());
      function();
    });
  }
};
struct in_thread {
  static constexpr int rounds = 10;  // on a busy machine each one takes a thread's time slice or two
  template <class Function>
  static auto run(Function function) {
    return std::thread(std::move(function));
  }
};

template <class Kind>
class Served : public kind_test<Kind> {
protected:
  using condition = typename Kind::condition_variable;
  using mutex = typename Kind::mutex;
  using channel = typename Kind::template channel<std::string>;
  static constexpr int many_rounds = 100;

  // `wait(condition, lock)` waits once.
  template <class Wait, class Start>
  static void notify_and_destroy(Start start_waiter, Wait wait, int rounds = many_rounds) {
    for (int i = 0; i < rounds; ++i) {
      doomed<condition> object;
      mutex lock;
      bool waits = false;
      auto waiter = start_waiter([&] {
        std::unique_lock hold(lock);
        waits = true;
        return wait(*object, std::move(hold));
      });
      until(lock, waits);
      {
        const std::lock_guard hold(lock);
        (*object).notify_all();
        object.destroy();
      }
      waiter.join();
    }
  }
  static void until(mutex& lock, const bool& waits) {
    for (;; Kind::yield()) {
      const std::lock_guard hold(lock);
      if (waits)
        return;
    }
  }

  // `send(channel)` sends one text, or `receive(channel)` receives one.
  template <class Start, class Send>
  static void receive_and_destroy(Start start_sender, Send send, int rounds = many_rounds) {
    for (int i = 0; i < rounds; ++i) {
      doomed<channel> object;
      auto sender = start_sender([&] { return send(*object); });
      std::optional<std::string> text;
      while (!text) {
        Kind::yield();
        text = (*object).try_receive();
      }
      object.destroy();
      EXPECT_EQ(*text, long_text);
      sender.join();
    }
  }
  template <class Start, class Receive>
  static void send_and_destroy(Start start_receiver, Receive receive, int rounds = many_rounds) {
    for (int i = 0; i < rounds; ++i) {
      doomed<channel> object;
      std::string text = long_text;
      auto receiver = start_receiver([&] { return receive(*object); });
      while (!(*object).try_send(text))
        Kind::yield();
      object.destroy();
      receiver.join();
    }
  }

  template <class Run>
  static void all_of(Run, int rounds = many_rounds) {
    const auto start_it = [](auto function) { return Run::run(std::move(function)); };
    notify_and_destroy(start_it, [](condition& c, std::unique_lock<mutex> hold) { c.wait(hold); }, rounds);
    notify_and_destroy(
        start_it,
        [](condition& c, std::unique_lock<mutex> hold) {
          EXPECT_EQ(c.wait_until(hold, support::generous()), std::cv_status::no_timeout);
        },
        rounds);
    receive_and_destroy(start_it, [](channel& c) { EXPECT_TRUE(c.send(std::string(long_text))); }, rounds);
    receive_and_destroy(
        start_it, [](channel& c) { EXPECT_TRUE(c.send_until(std::string(long_text), support::generous())); },
        rounds);
    send_and_destroy(start_it, [](channel& c) { EXPECT_EQ(c.receive(), long_text); }, rounds);
    send_and_destroy(
        start_it, [](channel& c) { EXPECT_EQ(*c.receive_until(support::generous()), long_text); }, rounds);
  }
};

KIND_TEST(Served, FibersDoNotTouchTheObjectAgain) {
  this->run([] {
    Served<Kind>::all_of(in_fiber<Kind>());
    Served<Kind>::all_of(under_guard<Kind>());
  });
}

KIND_TEST(Served, ThreadsDoNotTouchTheObjectAgain) {
  if constexpr (Kind::threads(1) != 0)
    this->run([] { Served<Kind>::all_of(in_thread(), in_thread::rounds); });
}

KIND_TEST(Served, StacklessWaitersDoNotTouchTheObjectAgain) {
  this->run([] {
    using self = Served<Kind>;
    const auto start_it = [](auto function) { return Kind::spawn(std::move(function)); };
    self::notify_and_destroy(
        start_it, [](typename self::condition& c, std::unique_lock<typename Kind::mutex> hold) {
          return become(c.waiting(std::move(hold)), [](std::unique_lock<typename Kind::mutex>) {});
        });
    self::notify_and_destroy(
        start_it, [](typename self::condition& c, std::unique_lock<typename Kind::mutex> hold) {
          return become(c.waiting_until(std::move(hold), support::generous()),
                        [](auto result) { EXPECT_EQ(result.second, std::cv_status::no_timeout); });
        });
    self::receive_and_destroy(start_it, [](typename self::channel& c) {
      return become(c.sending(std::string(long_text)), [](bool sent) { EXPECT_TRUE(sent); });
    });
    self::receive_and_destroy(start_it, [](typename self::channel& c) {
      return become(c.sending_until(std::string(long_text), support::generous()),
                    [](bool sent) { EXPECT_TRUE(sent); });
    });
    self::send_and_destroy(start_it, [](typename self::channel& c) {
      return become(c.receiving(), [](std::optional<std::string> text) { EXPECT_EQ(text, long_text); });
    });
    self::send_and_destroy(start_it, [](typename self::channel& c) {
      return become(c.receiving_until(support::generous()),
                    [](std::optional<std::string> text) { EXPECT_EQ(text, long_text); });
    });
    std::stop_source stop;
    self::send_and_destroy(start_it, [&stop](typename self::channel& c) {
      return become(stoppable(c.receiving(), stop.get_token()),
                    [](std::optional<std::string> text) { EXPECT_EQ(text, long_text); });
    });
  });
}

// The other case's object lives on.
KIND_TEST(Served, SelectsDoNotTouchTheObjectAgain) {
  this->run([] {
    using self = Served<Kind>;
    const auto start_it = [](auto function) { return Kind::spawn(std::move(function)); };
    typename self::channel other;
    const auto nothing = [](auto&&) { ADD_FAILURE() << "another case was chosen"; };
    self::send_and_destroy(start_it, [&](typename self::channel& c) {
      EXPECT_EQ(
          select(on_receive(other, nothing), on_receive(c, [](auto text) { EXPECT_EQ(text, long_text); })),
          1u);
    });
    self::receive_and_destroy(start_it, [&](typename self::channel& c) {
      EXPECT_EQ(select(on_send(c, std::string(long_text), [](bool sent) { EXPECT_TRUE(sent); }),
                       on_receive(other, nothing), on_timeout(1h, [] {})),
                0u);
    });
    if constexpr (Kind::threads(1) != 0)
      self::send_and_destroy([](auto function) { return std::thread(std::move(function)); },
                             [&](typename self::channel& c) {
                               EXPECT_EQ(select(on_receive(other, nothing), on_receive(c, [](auto) {})), 1u);
                             },
                             in_thread::rounds);
  });
}

// A waker that takes one case takes the others out of the object, too.
KIND_TEST(Served, SelectsWithSeveralCasesOfOneObject) {
  this->run([] {
    using self = Served<Kind>;
    using strings = typename self::channel;
    const auto start_it = [](auto function) { return Kind::spawn(std::move(function)); };
    const auto in_os_thread = [](auto function) { return std::thread(std::move(function)); };
    const auto ignore = [](auto&&) {};
    strings other;
    const auto any_of_it = [&](strings& c) {
      select(on_receive(c, ignore), on_send(c, std::string(long_text), ignore), on_receive(other, ignore),
             on_receive(c, ignore));
    };
    self::send_and_destroy(start_it, any_of_it);
    self::receive_and_destroy(start_it, any_of_it);
    const auto any_without_stack = [&](strings& c) {
      return become(selecting(on_receive(c, ignore), on_send(c, std::string(long_text), ignore)),
                    [](std::size_t) {});
    };
    self::send_and_destroy(start_it, any_without_stack);
    self::receive_and_destroy(start_it, any_without_stack);
    if constexpr (Kind::threads(1) != 0)
      self::send_and_destroy(in_os_thread, any_of_it, in_thread::rounds);
  });
}

KIND_TEST(Served, CallersOfCallOnceDoNotTouchTheFlagAgain) {
  this->run([] {
    for (const bool guarded : {false, true}) {
      doomed<typename Kind::once_flag> flag;
      typename Kind::fiber waiter;
      std::stop_source stop;
      call_once(*flag, [&] {
        waiter = start<Kind>([&] {
          std::optional<stop_guard> guard;
          if (guarded)
            guard.emplace(stop.get_token());
          call_once(*flag, [] { ADD_FAILURE() << "called twice"; });
        });
      });
      flag.destroy();
      waiter.join();
    }
  });
}

// The last to arrive has nothing to do with the object once the others have been woken.
KIND_TEST(Served, ArriveAndWaitIsOneStep) {
  this->run([] {
    for (int i = 0; i < Served<Kind>::many_rounds; ++i) {
      doomed<typename Kind::wait_group> group(2u);
      doomed<typename Kind::barrier> barrier(2);
      auto other = Kind::spawn([&] { (*group).arrive_and_wait(); });
      (*group).arrive_and_wait();
      group.destroy();
      other.join();
      other = Kind::spawn([&] { (*barrier).arrive_and_wait(); });
      (*barrier).arrive_and_wait();
      barrier.destroy();
      other.join();
    }
  });
}

KIND_TEST(Served, AReleaseOfSeveralPermitsWakesLast) {
  this->run([] {
    for (int i = 0; i < Served<Kind>::many_rounds; ++i) {
      doomed<typename Kind::counting_semaphore> permits(0u);
      auto waiter = Kind::spawn([&] {
        (*permits).acquire();
        permits.destroy();
      });
      (*permits).release(3);
      waiter.join();
    }
  });
}

}  // namespace
}  // namespace sennit
