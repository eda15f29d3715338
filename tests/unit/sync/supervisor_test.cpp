// Supervisors of both kinds: which actors begin again, and when no more.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sennit/local/supervisor.hpp"
#include "sennit/supervisor.hpp"
#include "unit/sync/actor_support.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

template <class Kind>
struct supervisor_of {
  using type = sennit::supervisor;
};
template <>
struct supervisor_of<local_kind> {
  using type = local::supervisor;
};

template <class Kind>
class Supervisors : public kind_test<Kind> {
protected:
  using supervisor = typename supervisor_of<Kind>::type;
  using ref = typename actors_of<Kind>::template ref<int>;
  using inbox = typename actors_of<Kind>::template inbox<int>;

  struct diary {
    std::atomic<int> begun{0};  // behaviours
    std::atomic<int> sum{0};    // of the messages since
  };
  static void until(const std::atomic<int>& value, int wanted) {
    while (value != wanted)
      Kind::yield();
  }
  static void handle(int message, diary& notes, int& total) {
    if (message < 0)
      throw std::runtime_error("negative");
    total += message;
    notes.sum = total;
  }

  // Adds what it is sent, and fails at a negative number. Its state is lost then.
  class with_stack {
  public:
    explicit with_stack(diary& notes) : notes_(&notes) {}
    void operator()(inbox& in) {
      ++notes_->begun;
      int total = 0;
      while (const auto message = in.receive())
        handle(*message, *notes_, total);
    }

  private:
    diary* notes_;
  };
  class without_stack {
  public:
    explicit without_stack(diary& notes) : notes_(&notes) {}
    without_stack(const without_stack& other) : notes_(other.notes_) { ++notes_->begun; }
    without_stack(without_stack&& other) noexcept = default;
    void operator()(int message) { handle(message, *notes_, total_); }

  private:
    diary* notes_;
    int total_ = 0;
  };
};

KIND_TEST(Supervisors, RestartAnActorThatFails) {
  using test = Supervisors<Kind>;
  this->run([] {
    for (const bool has_stack : {true, false}) {
      typename test::diary notes;
      typename test::supervisor family;
      auto child = has_stack ? family.template spawn<int>(typename test::with_stack(notes))
                             : family.template spawn<int>(typename test::without_stack(notes));
      for (const int message : {1, 2, -1, 10, 20})
        EXPECT_TRUE(child.send(message));
      child.stop();
      EXPECT_EQ(child.wait().reason, exit_reason::stopped);
      EXPECT_EQ(notes.sum, 30) << "the messages behind the failure, and a new state";
      EXPECT_EQ(family.restarts(), 1u);
    }
  });
}

KIND_TEST(Supervisors, ARestartLetsOthersRun) {
  using test = Supervisors<Kind>;
  this->run([] {
    std::atomic<bool> over{false};
    typename test::supervisor family({.restarts = no_limit_of_restarts});
    auto child = family.template spawn<int>([&over](typename test::inbox&) {
      if (!over)
        throw std::runtime_error("at once");
    });
    auto other = Kind::spawn([&over] { over = true; });
    other.join();
    EXPECT_EQ(child.wait().reason, exit_reason::normal);
  });
}

KIND_TEST(Supervisors, AStopEndsRestartsOfAnActorThatNeverWaits) {
  using test = Supervisors<Kind>;
  this->run([] {
    typename test::supervisor family({.restarts = no_limit_of_restarts});
    auto child =
        family.template spawn<int>([](typename test::inbox&) { throw std::runtime_error("at once"); });
    while (family.restarts() < 3)
      Kind::yield();
    family.request_stop();
    EXPECT_EQ(child.wait().reason, exit_reason::cancelled);
  });
}

KIND_TEST(Supervisors, OneForOneLeavesOthersAlone) {
  using test = Supervisors<Kind>;
  this->run([] {
    typename test::diary failing_notes;
    typename test::diary other_notes;
    typename test::supervisor family;
    auto failing = family.template spawn<int>(typename test::with_stack(failing_notes));
    auto other = family.template spawn<int>(typename test::with_stack(other_notes));
    other.send(5);
    test::until(other_notes.sum, 5);
    failing.send(-1);
    test::until(failing_notes.begun, 2);
    other.send(5);
    test::until(other_notes.sum, 10);
    EXPECT_EQ(other_notes.begun, 1);
  });
}

KIND_TEST(Supervisors, OneForAllRestartsAll) {
  using test = Supervisors<Kind>;
  this->run([] {
    typename test::diary notes[3];
    typename test::supervisor family({.policy = restart_policy::one_for_all});
    auto first = family.template spawn<int>(typename test::with_stack(notes[0]));
    auto second = family.template spawn<int>(typename test::with_stack(notes[1]));
    auto third = family.template spawn<int>(typename test::without_stack(notes[2]));
    first.send(1);
    third.send(1);
    test::until(notes[0].sum, 1);
    test::until(notes[1].begun, 1);
    test::until(notes[2].sum, 1);
    second.send(-1);
    test::until(notes[0].begun, 2);
    test::until(notes[1].begun, 2);
    first.send(7);
    third.send(7);
    test::until(notes[0].sum, 7);
    test::until(notes[2].sum, 7);
    EXPECT_EQ(family.restarts(), 1u);
  });
}

KIND_TEST(Supervisors, RestForOneRestartsLaterActors) {
  using test = Supervisors<Kind>;
  this->run([] {
    typename test::diary notes[3];
    typename test::supervisor family({.policy = restart_policy::rest_for_one});
    std::vector<typename test::ref> all;
    for (auto& each : notes)
      all.push_back(family.template spawn<int>(typename test::with_stack(each)));
    for (auto& each : notes)
      test::until(each.begun, 1);
    all[1].send(-1);
    test::until(notes[1].begun, 2);
    test::until(notes[2].begun, 2);
    all[0].send(1);
    test::until(notes[0].sum, 1);
    EXPECT_EQ(notes[0].begun, 1);
  });
}

KIND_TEST(Supervisors, NoneBeginsAgainBeforeAllHaveLeft) {
  using test = Supervisors<Kind>;
  std::atomic<int> inside{0};
  std::atomic<int> begun{0};
  std::atomic<bool> overlapped{false};
  this->run([&] {
    typename test::supervisor family({.policy = restart_policy::one_for_all});
    const auto behaviour = [&](typename test::inbox& in) {
      struct slow {
        ~slow() {
          const stop_shield until_left;
          Kind::yield();
          --of;
        }
        std::atomic<int>& of;
      };
      // A new round begins with the first of three.
      if (begun++ % 3 == 0 && inside != 0)
        overlapped = true;
      ++inside;
      const slow here{inside};
      while (const auto message = in.receive())
        if (*message < 0)
          throw std::runtime_error("negative");
    };
    std::vector<typename test::ref> all;
    for (int i = 0; i < 3; ++i)
      all.push_back(family.template spawn<int>(behaviour));
    test::until(begun, 3);
    for (int round = 0; round < 3; ++round) {
      all[static_cast<std::size_t>(round)].send(-1);
      test::until(begun, 3 * (round + 2));
    }
    EXPECT_FALSE(overlapped);
    EXPECT_EQ(family.restarts(), 3u);
  });
}

KIND_TEST(Supervisors, GiveUpAtTheirLimit) {
  using test = Supervisors<Kind>;
  this->run([] {
    for (const bool has_stack : {true, false}) {
      typename test::diary notes;
      typename test::diary beside_notes;
      typename test::ref failing;
      typename test::ref beside;
      EXPECT_THROW(
          {
            typename test::supervisor family({.restarts = 2, .period = 1h});
            failing = has_stack ? family.template spawn<int>(typename test::with_stack(notes))
                                : family.template spawn<int>(typename test::without_stack(notes));
            beside = family.template spawn<int>(typename test::with_stack(beside_notes));
            for (int i = 0; i < 5; ++i)
              failing.send(-1);
            family.join();
          },
          std::runtime_error);
      EXPECT_EQ(failing.wait().reason, exit_reason::failed);
      EXPECT_EQ(beside.wait().reason, exit_reason::cancelled);
    }
    typename test::diary notes;
    EXPECT_THROW(
        {
          typename test::supervisor family({.restarts = 0});
          family.template spawn<int>(typename test::with_stack(notes)).send(-1);
          family.join();
        },
        std::runtime_error);
    EXPECT_EQ(notes.begun, 1);
  });
}

KIND_TEST(Supervisors, TheirLimitIsForOnePeriod) {
  using test = Supervisors<Kind>;
  this->run([] {
    for (const supervisor_options& often :
         {supervisor_options{.restarts = 1, .period = 1us},
          supervisor_options{.restarts = no_limit_of_restarts, .period = 1h}}) {
      typename test::diary notes;
      typename test::supervisor family(often);
      auto failing = family.template spawn<int>(typename test::with_stack(notes));
      for (int i = 0; i < 5; ++i) {
        failing.send(-1);
        test::until(notes.begun, i + 2);
        Kind::sleep_for(1ms);
      }
      EXPECT_EQ(family.restarts(), 5u);
    }
  });
}

KIND_TEST(Supervisors, AreNested) {
  using test = Supervisors<Kind>;
  this->run([] {
    typename test::diary notes;
    typename test::supervisor outer;
    std::atomic<int> inner_begun{0};
    auto inner = outer.template spawn<int>([&](typename test::inbox& in) {
      ++inner_begun;
      typename test::supervisor family({.restarts = 0});
      auto child = family.template spawn<int>(typename test::with_stack(notes));
      while (const auto message = in.receive())
        child.send(*message);
    });
    inner.send(-1);  // the child fails, its supervisor gives up, and the outer one restarts that
    test::until(inner_begun, 2);
    inner.send(3);
    test::until(notes.sum, 3);
    EXPECT_EQ(outer.restarts(), 1u);
  });
}

KIND_TEST(Supervisors, DoNotRestartWhatIsStoppedOrCancelled) {
  using test = Supervisors<Kind>;
  this->run([] {
    for (const auto policy :
         {restart_policy::one_for_one, restart_policy::rest_for_one, restart_policy::one_for_all})
      for (const bool has_stack : {true, false}) {
        typename test::diary notes[3];
        typename test::supervisor family({.policy = policy});
        std::vector<typename test::ref> all;
        for (auto& each : notes)
          all.push_back(has_stack ? family.template spawn<int>(typename test::with_stack(each))
                                  : family.template spawn<int>(typename test::without_stack(each)));
        all[0].stop();
        EXPECT_EQ(all[0].wait().reason, exit_reason::stopped);
        all[1].cancel();
        EXPECT_EQ(all[1].wait().reason, exit_reason::cancelled);
        all[2].send(-1);
        all[2].send(4);
        test::until(notes[2].sum, 4);
        EXPECT_EQ(family.restarts(), 1u);
        family.request_stop();
        EXPECT_EQ(all[2].wait().reason, exit_reason::cancelled);
      }
  });
}

}  // namespace
}  // namespace sennit
