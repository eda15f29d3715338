// How many stacks a machine full of blocked fibers takes.
//
// Source: Draves et al. 1991, section 5: on a Firefly of five processors 886 threads used 212 stacks, most of
// them threads internal to the kernel (28), waiting for a timer (106), for a network packet (20), or to
// handle an exception (38). "886 similarly blocked kernel-level threads would require only 6 stacks, one for
// each of the Firefly's five processors and one for a special kernel thread." The others, 694, wait for
// user-level events, most of them without a stack on the Firefly, too.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/port.hpp"
#include "sennit/runtime.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;

// All stacks that fibers have run on, and the waiting threads.
struct machine {
  std::mutex lock;
  std::set<const void*> stacks;
  std::atomic<bool> ends = false;
  sennit::port<int, int> exceptions;

  void note_stack() {
    const std::lock_guard hold(lock);
    stacks.insert(sennit::detail::this_worker()->ready.current->frame->record.memory.low);
  }
};

// A thread. How often it has resumed, and whether it is to resume again.
struct thread {
  explicit thread(machine& its) : of(&its) {}
  virtual ~thread() = default;
  virtual void wake() = 0;
  bool goes_on() {
    ++turns;
    const bool more = !of->ends;
    if (more)
      of->note_stack();
    return more;
  }
  machine* of;
  std::atomic<int> turns = 0;
  sennit::fiber fiber;
};

struct internal : thread {
  explicit internal(machine& its) : thread(its) { fiber = sennit::spawn(become(work, this)); }
  void wake() override { fiber.unpark(); }
  static continuation work(internal* self) { return self->goes_on() ? become(work, self) : continuation(); }
};

struct timer : thread {
  explicit timer(machine& its) : thread(its) {
    fiber = sennit::spawn(become(sennit::this_fiber::sleeping_for(1ms), expire, this));
  }
  void wake() override {}  // by itself
  static continuation expire(timer* self) {
    return self->goes_on() ? become(sennit::this_fiber::sleeping_for(1ms), expire, self) : continuation();
  }
};

struct receiver : thread {
  receiver(machine& its, sennit::tcp_listener& from)
      : thread(its), far(sennit::tcp_stream::connect("127.0.0.1", from.port())), near(from.accept()) {
    fiber = sennit::spawn(become(near.reading(), receive, this));
  }
  void wake() override {
    static constexpr std::byte packet[1]{};
    far.write_all(packet);
  }
  static continuation receive(receiver* self) {
    char packet[16];  // or none, if this event reports data that it has already read
    ::recv(self->near.native_handle(), packet, sizeof packet, MSG_DONTWAIT);
    return self->goes_on() ? become(self->near.reading(), receive, self) : continuation();
  }
  sennit::tcp_stream far;
  sennit::tcp_stream near;
};

struct exception_handler : thread {
  explicit exception_handler(machine& its) : thread(its) {
    fiber = sennit::spawn(become(its.exceptions.receiving(), handle, this));
  }
  void wake() override {
    if (of->ends)
      of->exceptions.close();
    else
      of->exceptions.call(1);
  }
  static continuation handle(exception_handler* self, sennit::port<int, int>::incoming raised) {
    if (raised)
      raised.reply(*raised);
    return self->goes_on() ? become(self->of->exceptions.receiving(), handle, self) : continuation();
  }
};

struct user_with_semaphore : thread {
  explicit user_with_semaphore(machine& its) : thread(its) {
    fiber = sennit::spawn(become(given.acquiring(), use, this));
  }
  void wake() override { given.release(); }
  static continuation use(user_with_semaphore* self) {
    return self->goes_on() ? become(self->given.acquiring(), use, self) : continuation();
  }
  sennit::counting_semaphore given{0};
};

struct user_with_event : thread {
  explicit user_with_event(machine& its) : thread(its) {
    fiber = sennit::spawn(become(happened.waiting(), use, this));
  }
  void wake() override { happened.set(); }
  static continuation use(user_with_event* self) {
    self->happened.reset();
    return self->goes_on() ? become(self->happened.waiting(), use, self) : continuation();
  }
  sennit::event happened;
};

std::size_t stacks_in_use() {
  return sennit::count_descriptors([](const sennit::detail::fiber& each) {
    const auto status = sennit::detail::look(each.flags.status);
    return status != sennit::detail::fiber_status::unused &&
           status != sennit::detail::fiber_status::finished && !sennit::detail::look(each.flags.stackless) &&
           sennit::detail::look(each.frame) != nullptr;
  });
}

template <class Thread, class... Argument>
void add(std::vector<std::unique_ptr<thread>>& all, int count, machine& its, Argument&... argument) {
  for (int i = 0; i < count; ++i)
    all.push_back(std::make_unique<Thread>(its, argument...));
}

void wake_until_all_end(const std::vector<std::unique_ptr<thread>>& all) {
  for (const auto& each : all)
    do
      each->wake();
    while (!each->fiber.join_for(1ms));
}

TEST(StackCount, EightHundredAndEightySixFibersHoldSixStacks) {
  constexpr int rounds = 10;
  machine its;
  sennit::runtime runtime({.workers = 5});
  runtime.run([&] {
    its.note_stack();  // the special thread
    sennit::tcp_listener listener("127.0.0.1", 0);
    std::vector<std::unique_ptr<thread>> all;
    add<internal>(all, 28, its);
    add<timer>(all, 106, its);
    add<receiver>(all, 20, its, listener);
    add<exception_handler>(all, 38, its);
    add<user_with_semaphore>(all, 347, its);
    add<user_with_event>(all, 347, its);
    ASSERT_EQ(all.size(), 886u);

    // All of them at work, on any worker.
    for (bool done = false; !done;) {
      done = true;
      for (const auto& each : all)
        if (each->turns < rounds) {
          done = false;
          each->wake();
        }
      sennit::this_fiber::sleep_for(1ms);
    }
    {
      const std::lock_guard hold(its.lock);
      EXPECT_LE(its.stacks.size(), 6u);
    }
    its.ends = true;
    wake_until_all_end(all);
  });
  EXPECT_LE(its.stacks.size(), 6u);
}

// And at rest, when only the observer runs.
TEST(StackCount, ABlockedFiberHoldsNoStack) {
  machine its;
  sennit::runtime runtime({.workers = 5});
  runtime.run([&] {
    std::vector<std::unique_ptr<thread>> all;
    add<internal>(all, 192, its);
    add<user_with_semaphore>(all, 347, its);
    add<user_with_event>(all, 347, its);
    sennit::until_stackless<sennit::parallel_kind>(886);
    EXPECT_EQ(stacks_in_use(), 1u);
    its.ends = true;
    wake_until_all_end(all);
  });
}

}  // namespace
