// Fibers of scopes that wait without a stack, and were woken: a stop of the scope does not touch what they
// have waited for, which may be gone. Of every kind of wait that refers to an object of others.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/scope.hpp"
#include "sennit/select.hpp"
#include "support/deadlines.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

// A piece of memory that may not even be read once its object is destroyed.
template <class T>
class page_for {
public:
  template <class... Arguments>
  explicit page_for(Arguments... arguments)
      : memory_(::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED)
      throw std::bad_alloc();
    ::new (memory_) T(arguments...);
  }
  page_for(const page_for&) = delete;
  page_for& operator=(const page_for&) = delete;
  ~page_for() { ::munmap(memory_, size()); }
  T& operator*() { return *std::launder(static_cast<T*>(memory_)); }
  void destroy() {
    (**this).~T();
    EXPECT_EQ(::mprotect(memory_, size(), PROT_NONE), 0);
  }

private:
  static std::size_t size() noexcept {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (sizeof(T) + page - 1) / page * page;
  }
  void* const memory_;
};

const std::string long_text(50, 'a');

template <class Kind>
class ScopeServed : public kind_test<Kind> {
protected:
  // A fiber waits by `wait(object)`, `wake(object)` ends that wait, the object ends, and then the scope is
  // stopped. The fiber need not have run yet.
  template <class Object, class Wait, class Wake>
  static void wake_and_stop(Wait wait, Wake wake, std::size_t arguments = 0) {
    std::optional<page_for<Object>> object;
    if constexpr (std::is_constructible_v<Object, std::size_t>)
      object.emplace(arguments);
    else
      object.emplace();
    std::atomic<int> served = 0;
    typename Kind::scope scope;
    scope.spawn([&] { return become(wait(**object), [&served](auto&&...) { ++served; }); });
    until_stackless<Kind>(1);
    wake(**object);
    object->destroy();
    scope.request_stop();
    scope.join();
    EXPECT_EQ(served, 1);
  }
};

KIND_TEST(ScopeServed, AStopDoesNotTouchTheObject) {
  this->run([] {
    using self = ScopeServed<Kind>;
    using texts = typename Kind::template channel<std::string>;
    using numbers = typename Kind::template channel<int>;
    using calls = typename Kind::template port<int, int>;
    using list = typename Kind::template wait_list<int>;
    self::template wake_and_stop<typename Kind::event>([](auto& at) { return at.waiting(); },
                                                       [](auto& at) { at.set(); });
    self::template wake_and_stop<typename Kind::counting_semaphore>([](auto& at) { return at.acquiring(); },
                                                                    [](auto& at) { at.release(); });
    self::template wake_and_stop<typename Kind::wait_group>([](auto& at) { return at.waiting(); },
                                                            [](auto& at) { at.done(); }, 1);
    self::template wake_and_stop<typename Kind::barrier>([](auto& at) { return at.arriving(); },
                                                         [](auto& at) { at.arrive_and_wait(); }, 2);
    self::template wake_and_stop<numbers>([](auto& at) { return at.receiving(); },
                                          [](auto& at) { EXPECT_TRUE(at.send(1)); });
    self::template wake_and_stop<texts>([](auto& at) { return at.receiving(); },
                                        [](auto& at) { EXPECT_TRUE(at.send(long_text)); });
    self::template wake_and_stop<texts>([](auto& at) { return at.receiving(); },
                                        [](auto& at) { at.close(); });
    self::template wake_and_stop<texts>([](auto& at) { return at.sending(long_text); },
                                        [](auto& at) { EXPECT_EQ(at.receive(), long_text); });
    self::template wake_and_stop<calls>([](auto& at) { return at.calling(1); },
                                        [](auto& at) { EXPECT_TRUE(at.receive().reply(2)); });
    self::template wake_and_stop<calls>([](auto& at) { return at.sending(1); },
                                        [](auto& at) { EXPECT_TRUE(at.receive()); });
    self::template wake_and_stop<calls>([](auto& at) { return at.calling(1); }, [](auto& at) { at.close(); });
    self::template wake_and_stop<list>(
        [](auto& at) { return at.waiting(0, [](int&) { return true; }); },
        [](auto& at) {
          at.locked([](auto& now) { EXPECT_TRUE(now.wake_first([](int& its) { its = 1; })); });
        });
    typename Kind::mutex mutex;
    self::template wake_and_stop<typename Kind::condition_variable>(
        [&mutex](auto& at) { return at.waiting(std::unique_lock(mutex)); },
        [&mutex](auto& at) {
          const std::lock_guard hold(mutex);
          at.notify_all();
        });
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
    // Those that have a claim of their own.
    self::template wake_and_stop<texts>([](auto& at) { return at.receiving_until(support::generous()); },
                                        [](auto& at) { EXPECT_TRUE(at.send(long_text)); });
    self::template wake_and_stop<calls>([](auto& at) { return at.calling_until(1, support::generous()); },
                                        [](auto& at) { EXPECT_TRUE(at.receive().reply(2)); });
    const std::stop_source never;
    self::template wake_and_stop<texts>(
        [&never](auto& at) { return stoppable(at.receiving(), never.get_token()); },
        [](auto& at) { EXPECT_TRUE(at.send(long_text)); });
    texts other;
    self::template wake_and_stop<texts>(
        [&other](auto& at) {
          return selecting(on_receive(other, [](auto&&) {}), on_receive(at, [](auto&&) {}));
        },
        [](auto& at) { EXPECT_TRUE(at.send(long_text)); });
  });
}

// Several waits of one fiber, each ended by a waker.
KIND_TEST(ScopeServed, EachWaitOfAFiberIsOverByItself) {
  this->run([] {
    using numbers = typename Kind::template channel<int>;
    page_for<numbers> first;
    page_for<numbers> second;
    int sum = 0;
    typename Kind::scope scope;
    scope.spawn([&] {
      return become((*first).receiving(), [&](std::optional<int> number) {
        sum += number.value();
        return become((*second).receiving(), [&](std::optional<int> next) {
          sum += next.value();
          return become((*second).receiving(), [&](std::optional<int>) { ADD_FAILURE(); });
        });
      });
    });
    until_stackless<Kind>(1);
    EXPECT_TRUE((*first).send(1));
    first.destroy();
    EXPECT_TRUE((*second).send(2));
    until_stackless<Kind>(1);
    scope.request_stop();
    scope.join();
    EXPECT_EQ(sum, 3);
    int left = 3;
    EXPECT_FALSE((*second).try_send(left));
    second.destroy();
  });
}

// The waker, which destroys the object, and a stop on another thread come at the same time.
KIND_TEST(ScopeServed, AStopAndAWakeMeet) {
  if constexpr (Kind::threads(1) != 0)
    this->run([] {
      constexpr int rounds = 100;
      using numbers = typename Kind::template channel<int>;
      std::atomic<int> received = 0;
      int sent = 0;
      std::atomic<typename Kind::scope*> to_stop = nullptr;
      std::atomic<int> stopped = 0;
      std::thread stops([&] {
        while (stopped != rounds)
          if (typename Kind::scope* const now = to_stop.exchange(nullptr)) {
            now->request_stop();
            ++stopped;
          }
      });
      for (int i = 0; i < rounds; ++i) {
        page_for<numbers> object;
        typename Kind::scope scope;
        std::atomic<bool> waits = false;
        scope.spawn([&] {
          waits = true;
          return become((*object).receiving(), [&](std::optional<int> number) { received += *number; });
        });
        while (!waits)
          Kind::yield();
        if (i % 2 == 0)
          to_stop = &scope;
        int number = 1;
        if ((*object).try_send(number)) {
          ++sent;
          object.destroy();
        }
        if (i % 2 != 0)
          to_stop = &scope;
        while (stopped == i)
          std::this_thread::yield();  // a fiber that was woken here does not run yet
        scope.join();
      }
      stops.join();
      EXPECT_EQ(received, sent);
    });
}

}  // namespace
}  // namespace sennit
