// Runs the tests that are written in C; and what C++ beneath C code does.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "check.h"
#include "sennit/detail/observe/held_locks.hpp"
#include "sennit/detail/parallel/worker.hpp"
#include "support/child.hpp"

int capi_failed_line = 0;

extern "C" void capi_throw_runtime_error(void*) {
  throw std::runtime_error("a planted error");
}

extern "C" void capi_throw_no_space(void*) {
  throw std::system_error(std::make_error_code(std::errc::no_space_on_device));
}

namespace {
int run_in(const sennit_runtime_options& options, sennit_function function, void* argument) {
  capi_failed_line = 0;
  sennit_runtime* runtime = nullptr;
  if (sennit_runtime_create(&runtime, &options) != 0)
    return -1;
  const int result = sennit_runtime_run(runtime, function, argument);
  if (sennit_runtime_destroy(runtime) != 0 || result != 0)
    return -1;
  return capi_failed_line;
}
}  // namespace

extern "C" int capi_run(sennit_function function, void* argument) {
  return run_in({}, function, argument);
}

extern "C" int capi_run_parallel(sennit_function function, void* argument) {
  sennit_runtime_options options{};
  options.workers = 4;
  const int line = run_in(options, function, argument);
  if (line != 0)
    return line;
  sennit::detail::force_migration = true;
  const int migrating = run_in(options, function, argument);
  sennit::detail::force_migration = false;
  return migrating;
}

extern "C" int capi_make_pair(sennit_tcp_stream* ends[2]) {
  int descriptors[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, descriptors) != 0)
    return -errno;
  if (sennit_tcp_stream_adopt(&ends[0], descriptors[0]) != 0)
    return -1;
  return sennit_tcp_stream_adopt(&ends[1], descriptors[1]);
}

namespace {

#define CAPI_TEST(test)                                             \
  TEST(C, test) {                                                   \
    EXPECT_EQ(::test(), 0) << "the line of the C test that failed"; \
  }
CAPI_TESTS(CAPI_TEST)

// In C++ the header is the same, and so is its inline yield.
TEST(C, YieldFromCpp) {
  EXPECT_EQ(capi_run(
                [](void*) {
                  EXPECT_EQ(sennit_self_yield(), 0);
                  EXPECT_EQ(sennit_self_yield_call(), 0);
                },
                nullptr),
            0);
  EXPECT_EQ(sennit_self_yield(), -EINVAL);
}

TEST(C, TheInlineLockKnowsTheWordOfAMutex) {
  for (const bool shared : {false, true}) {
    sennit_mutex* mutex = nullptr;
    ASSERT_EQ((shared ? sennit_mutex_create_shared : sennit_mutex_create)(&mutex), 0);
    const auto& front = *reinterpret_cast<const sennit_lock_front*>(mutex);
    const std::uintptr_t& word = shared ? *front.shared_word : front.word;
    EXPECT_EQ(front.shared, shared);
    EXPECT_EQ(front.word == SENNIT_OF_SHARED, shared);
    EXPECT_EQ(front.shared, shared);
    EXPECT_NE(word, 0u) << "the first lock decides whether owners are recorded";
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ((sennit_mutex_lock)(mutex), 0);
      EXPECT_EQ(word, shared ? SENNIT_SHARED_LOCKED : SENNIT_LOCAL_LOCKED);
      EXPECT_EQ((sennit_mutex_unlock)(mutex), 0);
      EXPECT_EQ(word, 0u);
    }
    EXPECT_EQ(sennit_mutex_lock(mutex), 0);
    EXPECT_EQ((sennit_mutex_trylock)(mutex), -EAGAIN);
    EXPECT_EQ(sennit_mutex_unlock(mutex), 0);
    EXPECT_EQ(sennit_mutex_unlock(mutex), -EINVAL);
    EXPECT_EQ(sennit_mutex_destroy(mutex), 0);
  }
}

#if !defined(SENNIT_YIELD_BY_CALL)
// As a worker whose fibers yield, and from which another one steals.
TEST(C, TheInlineStepRoundARingIsThatOfTheLibrary) {
  using sennit::detail::fiber;
  sennit::detail::dispatching in_c(sennit::run_policy::fifo, false);
  sennit::detail::dispatching in_cpp(sennit::run_policy::fifo, false);
  if (!in_c.plain)
    GTEST_SKIP() << "fences are not free here";
  auto* const front = reinterpret_cast<sennit_ring_front*>(&in_c);
  fiber fibers[6];
  fiber* running = &fibers[0];
  for (fiber* each = fibers + 1; each != fibers + 6; ++each)
    ASSERT_TRUE(in_c.ring.push(each) && in_cpp.ring.push(each));
  for (unsigned step = 0; step != 600; ++step) {
    const unsigned before = in_c.dispatches.value();
    ASSERT_EQ(sennit_ring_may_rotate(front), !in_cpp.dispatches.count()) << step;
    if (in_c.dispatches.value() == before) {  // a poll is due
      in_c.dispatches.restart(10);
      in_cpp.dispatches.restart(10);
    }
    fiber* const expected = in_cpp.ring.rotate(running);
    auto* const next =
        reinterpret_cast<fiber*>(sennit_ring_rotate(front, reinterpret_cast<sennit_fiber_front*>(running)));
    ASSERT_EQ(next, expected) << step;
    sennit_ring_arrived(front);
    in_cpp.ring.clear_leaving();
    running = next;
    if (step % 100 == 99) {
      const auto take = [](fiber*) {};
      ASSERT_EQ(in_c.ring.steal_lone(take), in_cpp.ring.steal_lone(take));
    }
    ASSERT_EQ(in_c.ring.owned(), in_cpp.ring.owned());
  }
}
#endif

TEST(C, ASecondDetachAndAMutexLockedTwiceEndTheProgram) {
  const auto outcome_of = [](sennit_function function) {
    return support::in_child([&] {
      sennit_runtime* runtime = nullptr;
      sennit_runtime_options options{};
#if !defined(SENNIT_TSAN)  // starts no thread in a child
      options.report_deadlock = 1;
#endif
      ASSERT_EQ(sennit_runtime_create(&runtime, &options), 0);
      sennit_runtime_run(runtime, function, nullptr);
    });
  };
  const support::outcome detached = outcome_of([](void*) {
    sennit_fiber* fiber = nullptr;
    sennit_fiber_spawn(&fiber, [](void*) {}, nullptr, nullptr);
    sennit_fiber_detach(fiber);
    sennit_fiber_detach(fiber);
  });
  EXPECT_TRUE(detached.killed_by(SIGABRT)) << detached;
  EXPECT_TRUE(detached.says("sennit_fiber_detach of an empty handle")) << detached;
#if !defined(SENNIT_TSAN)
  const support::outcome locked = outcome_of([](void*) {
    sennit_mutex* mutex = nullptr;
    sennit_mutex_create(&mutex);
    sennit_mutex_lock(mutex);
    sennit_mutex_lock(mutex);
  });
  EXPECT_TRUE(locked.killed_by(SIGABRT)) << locked;
  EXPECT_TRUE(locked.says("\"main\" locks a mutex that it holds already")) << locked;
#endif
}

struct misuse {
  sennit_function function;
  const char* says;
};

bool is_parallel = false;

template <int (*Answer)(sennit_call* call)>
void answer_twice(void*) {
  static sennit_port* port;
  (is_parallel ? sennit_port_create_shared : sennit_port_create)(&port, sizeof(int), sizeof(int));
  const auto serve = [](void*) {
    sennit_call* call = nullptr;
    const int reply = 1;
    sennit_port_receive(port, &call, SENNIT_NEVER);
    sennit_call_reply(call, &reply);
    Answer(call);
  };
  sennit_fiber* server = nullptr;
  sennit_fiber_spawn(&server, serve, nullptr, nullptr);
  int number = 0;
  sennit_port_call(port, &number, &number, SENNIT_NEVER);
  sennit_fiber_join(server, SENNIT_NEVER);
}
int reply_once_more(sennit_call* call) {
  const int reply = 2;
  return sennit_call_reply(call, &reply);
}
int fail_now(sennit_call* call) {
  return sennit_call_fail(call, EIO);
}
int reply_and_receive(sennit_call* call) {
  const int reply = 3;
  return sennit_call_reply_and_receive(&call, &reply);
}

TEST(C, ASecondAnswerAndADetachOfTheMainFiberEndTheProgram) {
  constexpr const char* answered = "answers a call that was answered before";
  const misuse all[] = {
      {answer_twice<reply_once_more>, answered},
      {answer_twice<fail_now>, answered},
      {answer_twice<reply_and_receive>, answered},
      {[](void*) { sennit_fiber_detach(sennit_self()); },
       "detaches itself, but its handle belongs to sennit_runtime_run"},
  };
#if defined(SENNIT_TSAN)  // starts no thread in the child of a process that has had some
  constexpr unsigned kinds[] = {0};
#else
  constexpr unsigned kinds[] = {0, 2};
#endif
  for (const unsigned workers : kinds)
    for (const misuse& each : all) {
      const support::outcome outcome = support::in_child([&] {
        sennit_runtime_options options{};
        options.workers = workers;
        is_parallel = workers != 0;
        sennit_runtime* runtime = nullptr;
        ASSERT_EQ(sennit_runtime_create(&runtime, &options), 0);
        sennit_runtime_run(runtime, each.function, nullptr);
      });
      EXPECT_TRUE(outcome.killed_by(SIGABRT)) << outcome;
      EXPECT_TRUE(outcome.says(each.says)) << outcome;
    }
}

// A fiber that another one has started may give its own handle back, if it has got it.
TEST(C, AFiberMayDetachItself) {
  sennit_runtime* runtime = nullptr;
  ASSERT_EQ(sennit_runtime_create(&runtime, nullptr), 0);
  ASSERT_EQ(sennit_runtime_run(
                runtime,
                [](void*) {
                  sennit_fiber* fiber = nullptr;
                  sennit_fiber_spawn(
                      &fiber, [](void*) { sennit_fiber_detach(sennit_self()); }, nullptr, nullptr);
                  sennit_self_yield();
                },
                nullptr),
            0);
  EXPECT_EQ(sennit_runtime_destroy(runtime), 0);
}

#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED)
TEST(C, BecomeSaysWhatItWouldLose) {
  const support::outcome cleanup = support::in_child([] { capi_run(become_with_cleanup, nullptr); });
  EXPECT_TRUE(cleanup.killed_by(SIGABRT)) << cleanup;
  EXPECT_TRUE(
      cleanup.says("sennit: sennit_become: fiber \"main\" would leave what a function has yet to destroy"))
      << cleanup;
  const support::outcome reading = support::in_child([] { capi_run(become_reading_with_cleanup, nullptr); });
  EXPECT_TRUE(reading.killed_by(SIGABRT)) << reading;
  EXPECT_TRUE(reading.says("sennit: sennit_tcp_stream_become_reading: fiber \"main\" would leave"))
      << reading;
  const support::outcome inside = support::in_child([] { capi_run(become_in_coroutine, nullptr); });
  EXPECT_TRUE(inside.killed_by(SIGABRT)) << inside;
  EXPECT_TRUE(
      inside.says("\"main\" would leave a generator, a coroutine or a call on a large stack unfinished"))
      << inside;
}
#endif

TEST(C, YieldsWithAPthreadLockHeldAreReported) {
  const support::outcome said = support::in_child([] { EXPECT_EQ(capi_run(yield_with_mutex, nullptr), 0); });
  EXPECT_TRUE(said.exited(0)) << said;
#if defined(SENNIT_KNOWS_HELD_LOCKS)
  EXPECT_TRUE(said.says(" \"main\" yields and holds pthread mutex 0x")) << said;
#else
  EXPECT_EQ(said.said, "");
#endif
}

TEST(C, ExceptionsBecomeNumbers) {
  sennit_runtime* runtime = nullptr;
  ASSERT_EQ(sennit_runtime_create(&runtime, nullptr), 0);
  EXPECT_EQ(sennit_runtime_run(runtime, capi_throw_runtime_error, nullptr), -ENOTRECOVERABLE);
  EXPECT_EQ(sennit_runtime_run(runtime, capi_throw_no_space, nullptr), -ENOSPC);
  EXPECT_EQ(sennit_runtime_run(runtime, [](void*) { throw std::bad_alloc(); }, nullptr), -ENOMEM);
  EXPECT_EQ(sennit_runtime_destroy(runtime), 0);
}

// The header's contract for code without unwind tables.
TEST(C, NoUnwindTables) {
  const support::outcome outcome = support::in_child([] {
    sennit_runtime* runtime = nullptr;
    ASSERT_EQ(sennit_runtime_create(&runtime, nullptr), 0);
    ASSERT_EQ(sennit_runtime_spawn(runtime, nullptr, bare_park, nullptr, nullptr), 0);
    sennit_runtime_run_once(runtime, 0);
    sennit_runtime_destroy(runtime);
  });
  EXPECT_FALSE(outcome.exited(0)) << outcome;
  EXPECT_TRUE(outcome.says("terminate")) << outcome;
}

}  // namespace
