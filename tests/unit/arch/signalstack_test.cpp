// How contexts are made on signal stacks: by many threads, beside signals of the program's, leaving no trace.
#include "support/sanitizers.hpp"

#if !defined(SUPPORT_ASAN) && !defined(SUPPORT_TSAN)
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "sennit/detail/arch/signalstack_backend.h"
#include "support/stack.hpp"

namespace {

using support::stack;

const int worker_signal = SENNIT_SIGNALSTACK_SIGNAL;

void triple_on_it(sennit_context from, uintptr_t value, uintptr_t, uintptr_t, uintptr_t) {
  for (;;) {
    const sennit_transfer in = sennit_signalstack_swapstack(from, 3 * value + 1);
    from = in.from;
    value = in.value;
  }
}

// Makes contexts on its stacks, over and over, and has each answer twice. Returns how many answered wrong.
int make_and_run(std::vector<stack>& stacks, int rounds) {
  int wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    for (stack& s : stacks) {
      const auto value = static_cast<uintptr_t>(i);
      const sennit_transfer first =
          sennit_signalstack_swapstack(sennit_signalstack_newstack(s.top(), triple_on_it), value);
      const sennit_transfer second = sennit_signalstack_swapstack(first.from, value + 1);
      wrong += first.value != 3 * value + 1 || second.value != 3 * value + 4 || !s.contains(second.from);
    }
  }
  return wrong;
}

// A handler for as long as it lives. SA_SIGINFO, as the library's own: qemu-user reads the members of an
// action that changes meanwhile one by one.
class handler {
public:
  handler(int signal, void (*function)(int, siginfo_t*, void*)) : signal_(signal) {
    struct sigaction ours{};
    ours.sa_sigaction = function;
    ours.sa_flags = SA_SIGINFO;
    sigaction(signal, &ours, &earlier_);
  }
  ~handler() { sigaction(signal_, &earlier_, nullptr); }
  handler(const handler&) = delete;
  handler& operator=(const handler&) = delete;

private:
  int signal_;
  struct sigaction earlier_{};
};

std::atomic<int> handled;

void count(int, siginfo_t*, void*) {
  handled.fetch_add(1, std::memory_order_relaxed);
}

TEST(SignalStack, ManyThreadsMakeContextsAtOnce) {
  constexpr int count = 8;
  struct sigaction before{}, after{};
  sigaction(worker_signal, nullptr, &before);
  std::atomic<int> wrong{0};
  std::barrier together(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      std::vector<stack> stacks(3);
      together.arrive_and_wait();
      wrong += make_and_run(stacks, 500);
    });
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(wrong, 0);
  sigaction(worker_signal, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);  // two at a time would restore each other's
}

// What the thread and the process have, before and after.
TEST(SignalStack, HandlerMaskAndSignalStackAreAsBefore) {
  const handler ours(worker_signal, count);
  struct sigaction before{}, after{};
  sigset_t mask, mask_after;
  sigemptyset(&mask);
  sigaddset(&mask, worker_signal);
  sigaddset(&mask, SIGWINCH);
  stack_t altstack{}, altstack_after{};
  std::vector<char> memory(1 << 16);
  for (const bool has_altstack : {false, true}) {
    altstack.ss_flags = has_altstack ? 0 : SS_DISABLE;
    altstack.ss_sp = has_altstack ? memory.data() : nullptr;
    altstack.ss_size = has_altstack ? memory.size() : 0;
    ASSERT_EQ(sigaltstack(&altstack, nullptr), 0);
    for (const bool blocked : {false, true}) {
      pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &mask, nullptr);
      sigaction(worker_signal, nullptr, &before);
      pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
      std::vector<stack> stacks(1);
      EXPECT_EQ(make_and_run(stacks, 1), 0);
      sigaction(worker_signal, nullptr, &after);
      EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
      EXPECT_EQ(after.sa_flags, before.sa_flags);
      sigset_t now;
      pthread_sigmask(SIG_SETMASK, nullptr, &now);
      for (int signal = 1; signal <= SIGRTMAX; ++signal)
        EXPECT_EQ(sigismember(&now, signal), sigismember(&mask_after, signal)) << signal;
      sigaltstack(nullptr, &altstack_after);
      EXPECT_EQ(altstack_after.ss_flags, altstack.ss_flags);
      if (has_altstack) {
        EXPECT_EQ(altstack_after.ss_sp, altstack.ss_sp);
      }
    }
    pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  }
  altstack.ss_flags = SS_DISABLE;
  sigaltstack(&altstack, nullptr);
  EXPECT_EQ(handled, 0);
}

// Each of the program's own instances of the worker signal is delivered once, to creators and to others.
TEST(SignalStack, TheProgramsOwnWorkerSignalsAreAllDelivered) {
  const handler ours(worker_signal, count);
  handled = 0;
  std::atomic<int> wrong{0}, ready{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      std::vector<stack> stacks(1);
      ++ready;
      while (!done)
        if (i != 0)
          wrong += make_and_run(stacks, 10);
        else
          std::this_thread::yield();
    });
  while (ready != 3)
    std::this_thread::yield();
  int sent = 0;
  for (int i = 0; i < 1000; ++i) {
    for (std::thread& t : threads)
      sent += pthread_kill(t.native_handle(), worker_signal) == 0;
    std::this_thread::yield();
  }
  while (handled < sent)
    std::this_thread::yield();
  done = true;
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(sent, 0);
  EXPECT_EQ(handled, sent);
}

std::atomic<const stack*> new_stack;
std::atomic<int> on_new_stack;

void note_where(int) {
  count(0, nullptr, nullptr);
  if (const stack* s = new_stack; s != nullptr && s->contains(__builtin_frame_address(0)))
    ++on_new_stack;
}

// Handlers that ask for the signal stack get the thread's own, never the one that a context is made on.
TEST(SignalStack, OtherHandlersStayOffTheNewStack) {
  handled = 0;
  struct sigaction ours{}, earlier{};
  ours.sa_handler = note_where;
  ours.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGALRM, &ours, &earlier);
  const itimerval often{.it_interval = {0, 100}, .it_value = {0, 100}};
  setitimer(ITIMER_REAL, &often, nullptr);
  stack s;
  new_stack = &s;
  while (handled < 100) {
    sennit_context c = nullptr;
    ASSERT_EQ(sennit_signalstack_make(&c, s.bottom(), s.size() - 64, triple_on_it), 0);
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  new_stack = nullptr;
  sigaction(SIGALRM, &earlier, nullptr);
  EXPECT_EQ(on_new_stack, 0);
}

int error_on_signal_stack;

void make_in_handler(int) {
  static stack s;
  sennit_context c = nullptr;
  error_on_signal_stack = sennit_signalstack_make(&c, s.bottom(), s.size(), triple_on_it);
}

TEST(SignalStack, Errors) {
  stack s;
  sennit_context c = nullptr;
  EXPECT_EQ(sennit_signalstack_make(&c, s.bottom(), sennit_signalstack_least() - 1, triple_on_it), ENOMEM);
  EXPECT_EQ(sennit_signalstack_make(&c, s.bottom(), sennit_signalstack_least(), triple_on_it), 0);
  EXPECT_EQ(sennit_signalstack_swapstack(c, 5).value, 16u);

  stack altstack_memory;
  stack_t altstack{};
  altstack.ss_sp = altstack_memory.bottom();
  altstack.ss_size = altstack_memory.size();
  sigaltstack(&altstack, nullptr);
  struct sigaction ours{};
  ours.sa_handler = make_in_handler;
  ours.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &ours, nullptr);
  raise(SIGUSR2);
  EXPECT_EQ(error_on_signal_stack, EPERM);
  altstack.ss_flags = SS_DISABLE;
  sigaltstack(&altstack, nullptr);
}

// A child finds the lock free and the program's handlers, whenever its parent forked.
TEST(SignalStack, AForkAmongCreationsLeavesTheChildWhole) {
  std::atomic<bool> done{false};
  std::thread creator([&] {
    std::vector<stack> stacks(1);
    while (!done)
      make_and_run(stacks, 10);
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      struct sigaction action{};
      sigaction(worker_signal, nullptr, &action);
      if (action.sa_handler != SIG_DFL)
        _exit(1);
      std::vector<stack> stacks(1);
      _exit(make_and_run(stacks, 1) == 0 ? 0 : 2);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
  creator.join();
}

}  // namespace
#endif
