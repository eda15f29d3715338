// What a fiber keeps on its way from worker to worker: its exceptions, thrown and handled, and errno.
// Compiled with several flags: what breaks it is a compiler that remembers a thread-local address.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <vector>

#include "sennit/channel.hpp"
#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "support/sanitizers.hpp"

#include "sennit/errno.h"  // last: it redefines errno

namespace {

using namespace sennit;
using namespace std::chrono_literals;

constexpr int fibers = 16;
#if defined(SUPPORT_ASAN) || defined(SUPPORT_TSAN) || defined(__aarch64__)
constexpr int rounds = 250;
#else
constexpr int rounds = 5000;
#endif
constexpr int resumes_in_round = 4;

// By what a fiber goes from worker to worker.
enum class way { yield, sleep, park, receive, lock, join, generator, coroutine };
constexpr const char* ways[] = {"yield", "sleep", "park",      "receive",
                                "lock",  "join",  "generator", "coroutine"};

struct mine {
  int number;
  int step;
};

struct all_of_them {
  std::vector<fiber> handles;                // each unparked by its predecessor
  std::array<channel<int>, fibers> letters;  // to each from its predecessor
  std::array<mutex, fibers / 4> turns;       // each of four's
  std::atomic<bool> go{false};
  std::atomic<int> at_work{fibers};
};

struct traveller {
  all_of_them& all;
  int number;
  int step = 0;
  long resumes = 0;
  long moved = 0;
  long wrong = 0;
  std::array<long, std::size(ways)> moved_by{};

  void expect(bool right) { wrong += right ? 0 : 1; }

  // Waits, with an errno that must be there afterwards. `wait` does only its own wait's part.
  template <class Wait>
  void keep_errno(Wait wait) {
    const int error = 1 + number * 100 + static_cast<int>(resumes % 100);
    errno = error;
    wait();
    expect(errno == error);
  }
  void park() {
    all.handles[next()].unpark();
    keep_errno([] { this_fiber::park_until(soon()); });
  }

  void travel() {
    const unsigned before = this_fiber::worker();
    const auto by = static_cast<way>((resumes + number + step) % std::ssize(ways));
    bool here = false;
    switch (by) {
      case way::yield:
        this_fiber::yield();
        break;
      case way::sleep:
        keep_errno([] { this_fiber::sleep_for(0s); });
        break;
      case way::park:
        park();
        break;
      case way::receive: {
        int letter = number;
        static_cast<void>(all.letters[next()].try_send(letter));
        keep_errno([&] {
          const std::optional<int> got = all.letters[static_cast<unsigned>(number)].receive_until(soon());
          expect(!got || *got == (number + fibers - 1) % fibers);
        });
        break;
      }
      case way::lock: {
        mutex& turn = all.turns[static_cast<unsigned>(number) % all.turns.size()];
        keep_errno([&] { turn.lock(); });
        const std::lock_guard unlocks(turn, std::adopt_lock);
        here = this_fiber::worker() == before;
        this_fiber::yield();  // so that others wait for it
        break;
      }
      case way::join: {
        fiber child = spawn([] {});
        keep_errno([&] { child.join(); });
        break;
      }
      case way::generator: {
        generator<int> steps([&](auto& yield) {
          try {
            throw mine{number, step};
          } catch (const mine& caught) {
            park();
            expect(is_ours(caught));
          }
          yield(number);
        });
        expect(*steps.begin() == number);
        break;
      }
      case way::coroutine: {
        coroutine<int(int)> once([&](auto&, int given) {
          keep_errno([] { this_fiber::sleep_for(0s); });
          return given;
        });
        expect(once(number) == number);
        break;
      }
    }
    ++resumes;
    const bool did = by == way::lock ? !here : this_fiber::worker() != before;
    moved += did ? 1 : 0;
    moved_by[static_cast<std::size_t>(by)] += did ? 1 : 0;
  }

  unsigned next() const { return (static_cast<unsigned>(number) + 1) % fibers; }
  static std::chrono::steady_clock::time_point soon() { return std::chrono::steady_clock::now() + 100us; }
  bool is_ours(const mine& thrown) const { return thrown.number == number && thrown.step == step; }
};

// Travels while an exception passes, and while it handles one of its own then.
struct travels_at_its_end {
  traveller& who;
  ~travels_at_its_end() {
    who.expect(std::uncaught_exceptions() == 1);
    who.travel();
    who.expect(std::uncaught_exceptions() == 1 && std::current_exception() == nullptr);
    try {
      throw mine{-who.number, who.step};
    } catch (const mine& inner) {
      who.travel();
      who.expect(inner.number == -who.number && std::uncaught_exceptions() == 1);
    }
    who.expect(std::uncaught_exceptions() == 1 && std::current_exception() == nullptr);
  }
};

void go_round(traveller& who) {
  bool rethrown = false;
  try {
    const travels_at_its_end passed{who};
    throw mine{who.number, who.step};
  } catch (const mine& caught) {
    const std::exception_ptr current = std::current_exception();
    who.expect(who.is_ours(caught) && std::uncaught_exceptions() == 0);
    who.travel();
    who.expect(who.is_ours(caught) && std::uncaught_exceptions() == 0 && std::current_exception() == current);
    try {
      throw;
    } catch (const mine& again) {
      rethrown = true;
      who.travel();
      who.expect(&again == &caught && who.is_ours(again) && std::current_exception() == current);
    } catch (...) {
    }
  }
  who.expect(rethrown && std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
}

// Where errno was before a fiber went to another worker is another thread's then: whatever remembers the
// address, as compilers do without sennit/errno.h, is wrong. So the test below has something to find.
TEST(MigrationOfErrno, AnAddressThatWasKeptIsAnotherThreads) {
  detail::force_migration = true;
  runtime rt({.workers = 2});
  detail::force_migration = false;
  int stale = 0;
  int moved = 0;
  rt.spawn([&] {
      for (int i = 0; i < 100; ++i) {
        const unsigned before = this_fiber::worker();
        const int* const kept = &errno;
        this_fiber::sleep_for(0s);
        moved += this_fiber::worker() != before ? 1 : 0;
        stale += &errno != kept ? 1 : 0;
      }
    }).join();
  EXPECT_GT(moved, 0);
  EXPECT_EQ(stale, moved);
}

class Migration : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, Migration, testing::Values(2u, 4u));

TEST_P(Migration, KeepsExceptionsAndErrno) {
  detail::force_migration = true;
  runtime rt({.workers = GetParam()});
  detail::force_migration = false;
  all_of_them all;
  std::vector<traveller> travellers;
  for (int i = 0; i < fibers; ++i)
    travellers.push_back({all, i});
  rt.run([&] {
    for (traveller& each : travellers)
      all.handles.push_back(spawn([&each] {
        while (!each.all.go)
          this_fiber::yield();
        for (; each.step < rounds; ++each.step)
          go_round(each);
        --each.all.at_work;
      }));
    all.go = true;
    while (all.at_work != 0)
      this_fiber::sleep_for(1ms);
    for (fiber& each : all.handles)
      each.join();
  });
  long resumes = 0;
  long moved = 0;
  long wrong = 0;
  std::array<long, std::size(ways)> moved_by{};
  for (const traveller& each : travellers) {
    resumes += each.resumes;
    moved += each.moved;
    wrong += each.wrong;
    for (std::size_t by = 0; by < std::size(ways); ++by)
      moved_by[by] += each.moved_by[by];
  }
  std::printf("[migration ] %ld wrong of %ld resumes, %ld of them on another of %u workers\n", wrong, resumes,
              moved, GetParam());
  EXPECT_EQ(resumes, long{fibers} * rounds * resumes_in_round);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(moved, resumes / 2);
  for (std::size_t by = 0; by < std::size(ways); ++by)
    EXPECT_GT(moved_by[by], 0) << ways[by];
}

}  // namespace
