// The messages of actors of both kinds, with a stack and without.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sennit/stop_guard.hpp"
#include "support/child.hpp"
#include "unit/sync/actor_support.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

template <class Kind>
class Actors : public actor_test<Kind> {};

KIND_TEST(Actors, HandleTheMessagesOfOneSenderInOrder) {
  this->run([] {
    for (const bool has_stack : {true, false}) {
      std::vector<int> seen;
      typename actors_of<Kind>::template ref<int> recorder;
      if (has_stack)
        recorder =
            actors_of<Kind>::template spawn<int>([&](typename actors_of<Kind>::template inbox<int>& in) {
              for (const int each : in)
                seen.push_back(each);
            });
      else
        recorder = actors_of<Kind>::template spawn<int>([&](int each) { seen.push_back(each); });
      for (int i = 0; i < 300; ++i)
        EXPECT_TRUE(recorder.send(i));
      recorder.stop();
      EXPECT_EQ(recorder.wait().reason, exit_reason::stopped);
      EXPECT_TRUE(recorder.ended());
      ASSERT_EQ(seen.size(), 300u);
      for (int i = 0; i < 300; ++i)
        EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
    }
  });
}

KIND_TEST(Actors, AnswerWhatTheyAreAsked) {
  using test = Actors<Kind>;
  std::atomic<int> answered{0};
  this->run([&] {
    for (const bool has_stack : {true, false}) {
      const auto adding = test::adder(has_stack);
      std::vector<typename Kind::fiber> askers;
      for (int i = 0; i < 10; ++i)
        askers.push_back(Kind::spawn([&, mine = adding] {
          EXPECT_TRUE(mine.send(typename test::add{1}));
          answered += test::sum_of(mine).value_or(0) > 0;
        }));
      this->join(askers);
      EXPECT_EQ(test::sum_of(adding).value_or(0), 10);
    }
  });
  EXPECT_EQ(answered, 20);
}

KIND_TEST(Actors, AskGivesUpAtItsDeadline) {
  this->run([] {
    std::vector<typename Kind::template promise<int>> kept;  // what the actor does not answer
    const auto ask = [](typename Kind::template promise<int> reply) { return reply; };
    auto silent = actors_of<Kind>::template spawn<typename Kind::template promise<int>>(
        [&](typename Kind::template promise<int> reply) { kept.push_back(std::move(reply)); });
    EXPECT_EQ(silent.template ask_for<int>(ask, 1ms).status(), channel_status::timeout);
    EXPECT_EQ(silent.template ask_until<int>(ask, steady::time_point::min()).status(),
              channel_status::timeout);
    silent.stop();
    silent.wait();
    EXPECT_EQ(silent.template ask<int>(ask).status(), channel_status::closed);
  });
}

KIND_TEST(Actors, AskIsNotLeftWaiting) {
  this->run([] {
    using void_promise = typename Kind::template promise<void>;
    using inbox = typename actors_of<Kind>::template inbox<void_promise>;
    const auto ask = [](void_promise reply) { return reply; };
    // The request waits in the mailbox of an actor that fails, is cancelled, or returns.
    for (int end = 0; end < 3; ++end) {
      typename Kind::event go;
      auto ending = actors_of<Kind>::template spawn<void_promise>([&](inbox&) {
        go.wait();
        if (end == 0)
          throw std::runtime_error("failed");
      });
      channel_status status = channel_status::success;
      auto asking = start<Kind>([&] { status = ending.template ask<void>(ask).status(); });
      if (end == 1)
        ending.cancel();
      go.set();
      asking.join();
      EXPECT_EQ(status, channel_status::closed);
      const exit_reason reasons[] = {exit_reason::failed, exit_reason::cancelled, exit_reason::normal};
      EXPECT_EQ(ending.wait().reason, reasons[end]);
    }
    // The actor destroys the request, or answers it with an exception.
    auto forgetful = actors_of<Kind>::template spawn<void_promise>([](void_promise) {});
    EXPECT_EQ(forgetful.template ask<void>(ask).status(), channel_status::closed);
    auto refusing = actors_of<Kind>::template spawn<void_promise>(
        [](void_promise reply) { reply.set_exception(std::make_exception_ptr(std::out_of_range("no"))); });
    EXPECT_THROW(refusing.template ask<void>(ask), std::out_of_range);
    auto answering =
        actors_of<Kind>::template spawn<void_promise>([](void_promise reply) { reply.set_value(); });
    EXPECT_TRUE(answering.template ask<void>(ask));
  });
}

KIND_TEST(Actors, CancelDestroysWhatIsQueued) {
  using counted = typename Actors<Kind>::counted_message;
  std::atomic<int> alive{0};
  std::atomic<int> handled{0};
  this->run([&] {
    // It waits in its handler, with a stack for the moment.
    typename Kind::event go;
    typename Kind::event begun;
    auto busy = actors_of<Kind>::template spawn<counted>([&](const counted&) {
      ++handled;
      begun.set();
      go.wait();
    });
    for (int i = 0; i < 10; ++i)
      busy.send(counted(alive));
    begun.wait();
    busy.cancel();
    EXPECT_LE(alive, 3) << "the one that is handled, and the places that it was moved from";
    go.set();
    EXPECT_EQ(busy.wait().reason, exit_reason::cancelled);
    EXPECT_EQ(handled, 1);
    EXPECT_EQ(alive, 0);
    counted rest(alive);
    EXPECT_FALSE(busy.send(std::move(rest)));
  });
  EXPECT_EQ(alive, 0);
}

KIND_TEST(Actors, CancelEndsTheWaitsUnderAGuard) {
  using inbox = typename actors_of<Kind>::template inbox<int>;
  this->run([] {
    bool left = false;
    struct leaving {
      ~leaving() { *to = true; }
      bool* to;
    };
    typename Kind::event never_set;
    typename Kind::event begun;
    auto waiting = actors_of<Kind>::template spawn<int>([&](inbox& in) {
      const leaving here{&left};
      const stop_guard guard(in.get_token());
      begun.set();
      never_set.wait();
    });
    begun.wait();
    EXPECT_FALSE(waiting.wait_for(1ms));
    waiting.stop();  // it does not look
    EXPECT_FALSE(waiting.wait_for(1ms));
    waiting.cancel();
    EXPECT_EQ(waiting.wait().reason, exit_reason::cancelled);
    EXPECT_TRUE(left);

    typename Kind::event set_late;
    bool requested = false;
    auto unguarded = actors_of<Kind>::template spawn<int>([&](inbox& in) {
      set_late.wait();
      EXPECT_FALSE(in.receive());
      requested = in.get_token().stop_requested();
    });
    unguarded.send(1);
    Kind::yield();
    unguarded.cancel();
    EXPECT_FALSE(unguarded.wait_for(1ms));
    set_late.set();
    EXPECT_EQ(unguarded.wait().reason, exit_reason::cancelled);
    EXPECT_TRUE(requested) << "a token that is made late";

    for (const bool has_stack : {true, false}) {
      auto receiving = Actors<Kind>::adder(has_stack);
      Kind::yield();
      receiving.cancel();
      EXPECT_EQ(receiving.wait().reason, exit_reason::cancelled);
    }
  });
}

KIND_TEST(Actors, EndWithTheirLastReference) {
  this->run([] {
    for (const bool has_stack : {true, false}) {
      typename Kind::event gone;
      struct setter {
        explicit setter(typename Kind::event& to) : set(&to) {}
        setter(setter&& other) noexcept : set(std::exchange(other.set, nullptr)) {}
        ~setter() {
          if (set != nullptr)
            set->set();
        }
        typename Kind::event* set;
      };
      int handled = 0;
      {
        typename actors_of<Kind>::template ref<int> first;
        if (has_stack)
          first = actors_of<Kind>::template spawn<int>(
              [&, last = setter(gone)](typename actors_of<Kind>::template inbox<int>& in) {
                for (const int each : in)
                  handled += each;
              });
        else
          first =
              actors_of<Kind>::template spawn<int>([&, last = setter(gone)](int each) { handled += each; });
        auto second = first;
        first = {};
        EXPECT_FALSE(first);
        EXPECT_TRUE(second);
        EXPECT_FALSE(gone.wait_for(1ms));
        second.send(3);
      }
      gone.wait();
      EXPECT_EQ(handled, 3);
    }
  });
}

KIND_TEST(Actors, MayReferToThemselves) {
  using inbox = typename actors_of<Kind>::template inbox<int>;
  this->run([] {
    typename Kind::event done;
    auto counting = actors_of<Kind>::template spawn<int>([&](int left, inbox& in) {
      EXPECT_FALSE(in.stopped());
      int next = left - 1;
      if (left != 0)
        EXPECT_TRUE(in.self().try_send(next));
      else
        in.stop();
    });
    counting.send(200);
    EXPECT_EQ(counting.wait().reason, exit_reason::normal);
    int more = 1;
    EXPECT_FALSE(counting.try_send(more));
  });
}

KIND_TEST(Actors, RefuseMessagesOnceTheyHaveEnded) {
  this->run([] {
    auto ended = actors_of<Kind>::template spawn<std::unique_ptr<int>>([](std::unique_ptr<int>) {});
    ended.stop();
    auto mine = std::make_unique<int>(1);
    EXPECT_FALSE(ended.send(std::move(mine)));
    EXPECT_NE(mine, nullptr);
    EXPECT_FALSE(ended.try_send(mine));
    EXPECT_EQ(ended.send_until(std::move(mine), steady::now()).status(), channel_status::closed);
    EXPECT_NE(mine, nullptr);
    ended.wait();
    EXPECT_FALSE(ended.send(std::move(mine)));
    ended.stop();
    ended.cancel();
    EXPECT_EQ(ended.wait().reason, exit_reason::stopped) << "what happened first stays";
  });
}

KIND_TEST(Actors, SendWaitsWhileTheMailboxIsFull) {
  using inbox = typename actors_of<Kind>::template inbox<int>;
  this->run([] {
    for (const std::size_t capacity : {0u, 1u, 5u}) {
      typename Kind::event go;
      int total = 0;
      auto slow = actors_of<Kind>::template spawn<int>(
          [&](inbox& in) {
            go.wait();
            while (const auto next = in.receive())
              total += *next;
          },
          typename actors_of<Kind>::options{.mailbox = capacity});
      int one = 1;
      for (std::size_t i = 0; i < capacity; ++i)
        EXPECT_TRUE(slow.try_send(one));
      EXPECT_FALSE(slow.try_send(one));
      EXPECT_EQ(slow.send_until(1, steady::now() + 1ms).status(), channel_status::timeout);
      auto sender = start<Kind>([&] { EXPECT_TRUE(slow.send(10)); });
      go.set();
      sender.join();
      slow.stop();
      slow.wait();
      EXPECT_EQ(total, 10 + static_cast<int>(capacity));
    }
  });
}

KIND_TEST(Actors, InboxesReceiveUntilADeadline) {
  using inbox = typename actors_of<Kind>::template inbox<int>;
  this->run([] {
    auto patient = actors_of<Kind>::template spawn<int>([](inbox& in) {
      EXPECT_FALSE(in.try_receive());
      EXPECT_EQ(in.receive_for(1ms).status(), channel_status::timeout);
      EXPECT_EQ(in.receive_until(steady::now() + 1h).value_or(0), 7);
      EXPECT_EQ(in.size(), 0u);
      EXPECT_EQ(in.receive_until(steady::now() + 1h).status(), channel_status::closed);
    });
    Kind::sleep_for(5ms);
    patient.send(7);
    patient.stop();
    EXPECT_EQ(patient.wait().reason, exit_reason::stopped);
  });
}

KIND_TEST(Actors, MessagesOfAllSizesArrive) {
  using big = std::vector<std::string>;
  struct alignas(64) aligned {
    std::uint64_t value = 0;
  };
  this->run([] {
    int good = 0;
    auto strings = actors_of<Kind>::template spawn<big>([&](const big& all) { good += all.at(1) == "b"; });
    for (int i = 0; i < 100; ++i)
      strings.send(big{"a", "b"});
    strings.stop();
    strings.wait();
    EXPECT_EQ(good, 100);
    bool all_aligned = true;
    std::uint64_t total = 0;
    auto odd =
        actors_of<Kind>::template spawn<aligned>([&](typename actors_of<Kind>::template inbox<aligned>& in) {
          while (auto next = in.receive()) {
            all_aligned &= reinterpret_cast<std::uintptr_t>(&*next) % 64 == 0;
            total += next->value;
          }
        });
    for (std::uint64_t i = 0; i < 100; ++i)
      odd.send(aligned{i});
    odd.stop();
    odd.wait();
    EXPECT_TRUE(all_aligned);
    EXPECT_EQ(total, 4950u);
  });
}

KIND_TEST(Actors, ThreadsMaySendAndAsk) {
  using test = Actors<Kind>;
  std::atomic<int> answered{0};
  typename test::ref adding;
  this->run([&] { adding = test::adder(false); });
  this->run_all(
      5,
      [&](int) {
        const auto mine = adding;
        for (int i = 0; i < 100; ++i)
          EXPECT_TRUE(mine.send(typename test::add{1}));
        answered += test::sum_of(mine).value_or(0) >= 100;
      },
      2);
  const int senders = 5 + Kind::threads(2);
  EXPECT_EQ(answered, senders);
  this->run([&] { EXPECT_EQ(test::sum_of(adding).value_or(0), 100 * senders); });
}

KIND_TEST(Actors, ManySendToMany) {
  std::atomic<long> total{0};
  this->run([&] {
    typename Kind::scope scope;
    std::vector<typename actors_of<Kind>::template ref<int>> all;
    for (int i = 0; i < 10; ++i)
      all.push_back(actors_of<Kind>::template spawn<int>([&](int n) { total += n; },
                                                         typename actors_of<Kind>::options{.mailbox = 3}));
    for (int i = 0; i < 10; ++i)
      scope.spawn([&] {
        for (int n = 0; n < 500; ++n) {
          EXPECT_TRUE(all[static_cast<std::size_t>(n) % all.size()].send(n));
          if (n % 100 == 0)
            Kind::yield();
        }
      });
    scope.join();
    for (auto& each : all) {
      each.stop();
      each.wait();
    }
  });
  EXPECT_EQ(total, 10L * 499 * 500 / 2);
}

#if !defined(NDEBUG)
TEST(ActorsInDebugBuilds, ReportTheUseOfAnEmptyReference) {
  const support::outcome seen = support::in_child([] { actor_ref<int>().send(1); });
  EXPECT_TRUE(seen.killed_by(SIGABRT)) << seen;
  EXPECT_TRUE(seen.says("an empty actor_ref was used: assign what spawn_actor returned first")) << seen;
}
#endif

}  // namespace
}  // namespace sennit
