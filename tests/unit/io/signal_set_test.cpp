#include "sennit/signal_set.hpp"

#include <csignal>
#include <thread>

#include "support.hpp"

namespace {

using namespace io_test;
using sennit::signal_set;

template <class Kind>
class SignalSet : public kind_test<Kind> {};

KIND_TEST(SignalSet, AFiberWaitsForASignal) {
  this->run([] {
    signal_set signals{SIGINT, SIGTERM};
    int got = 0;
    auto waiter = Kind::spawn([&] { got = signals.wait(generous()); });
    Kind::yield();
    std::raise(SIGTERM);
    waiter.join();
    EXPECT_EQ(got, SIGTERM);
  });
}

KIND_TEST(SignalSet, KeepsSignalsThatComeWhileNobodyWaits) {
  signal_set signals{SIGUSR1, SIGUSR2};  // outside of a runtime
  std::raise(SIGUSR2);
  std::raise(SIGUSR1);
  std::raise(SIGUSR1);
  this->run([&] {
    EXPECT_EQ(signals.wait(), SIGUSR1);
    EXPECT_EQ(signals.wait(), SIGUSR2);
    std::error_code error;
    EXPECT_EQ(signals.wait(error, steady::now() + 5ms), 0);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_EQ(error_of([&] { signals.wait(steady::now() + 5ms); }), std::errc::timed_out);
    std::raise(SIGUSR1);
    EXPECT_EQ(signals.wait(error, generous()), SIGUSR1);
    EXPECT_FALSE(error);
  });
}

KIND_TEST(SignalSet, TheSignalMayComeToAnotherThread) {
  signal_set signals{SIGINT};
  std::thread sender;
  this->run([&] {
    // Once this fiber waits, where it is the only worker.
    auto starter =
        Kind::spawn([&] { sender = std::thread([] { ::pthread_kill(::pthread_self(), SIGINT); }); });
    EXPECT_EQ(signals.wait(generous()), SIGINT);
    starter.join();
  });
  sender.join();
}

KIND_TEST(SignalSet, TheSignalMayComeFromAnotherProcess) {
  this->run([] {
    signal_set signals{SIGINT, SIGTERM};
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(::kill(parent, SIGTERM));
    EXPECT_EQ(signals.wait(generous()), SIGTERM);
    ::waitpid(child, nullptr, 0);
  });
}

KIND_TEST(SignalSet, EverySetIsTold) {
  this->run([] {
    signal_set a{SIGUSR1, SIGUSR2};
    signal_set b{SIGUSR1};
    auto waiter = Kind::spawn([&] { EXPECT_EQ(b.wait(generous()), SIGUSR1); });
    std::raise(SIGUSR1);
    EXPECT_EQ(a.wait(generous()), SIGUSR1);
    waiter.join();
  });
}

volatile std::sig_atomic_t former_handler_ran = 0;

void former_handler(int) {
  former_handler_ran = former_handler_ran + 1;
}

TEST(SignalSet, RestoresTheFormerDisposition) {
  former_handler_ran = 0;
  struct sigaction mine{};
  mine.sa_handler = former_handler;
  ASSERT_EQ(sigaction(SIGUSR1, &mine, nullptr), 0);
  {
    signal_set outer{SIGUSR1};
    {
      signal_set inner{SIGUSR1, SIGUSR1};
      std::raise(SIGUSR1);
    }
    std::raise(SIGUSR1);
    EXPECT_EQ(former_handler_ran, 0);
  }
  std::raise(SIGUSR1);
  EXPECT_EQ(former_handler_ran, 1);
  {
    signal_set signals{SIGUSR1};
    std::signal(SIGUSR1, SIG_IGN);
  }
  EXPECT_EQ(std::signal(SIGUSR1, SIG_DFL), SIG_IGN);  // changed meanwhile: left as it is
}

TEST(SignalSet, RefusesWhatCannotBeAwaited) {
  for (const int signal : {0, -1, 65, 1000, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    EXPECT_EQ(error_of([&] { signal_set{SIGUSR1, signal}; }), std::errc::invalid_argument) << signal;
    struct sigaction now{};
    sigaction(SIGUSR1, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
  }
}

KIND_TEST(SignalSet, ItsEndCancelsWhoWaits) {
  this->run([] {
    auto signals = std::make_unique<signal_set>(std::initializer_list<int>{SIGUSR1});
    std::error_code error;
    auto waiter = start<Kind>([&] { signals->wait(error, generous()); });
    signals.reset();
    waiter.join();
    EXPECT_EQ(error, std::errc::operation_canceled);
  });
}

// Sets come and go while signals rain: no handler may use a file descriptor that was closed.
KIND_TEST(SignalSet, ComesAndGoesUnderARainOfSignals) {
  // A handler, not SIG_IGN: qemu-user 7.2 calls address 1 when a signal becomes ignored between its coming
  // and its delivery.
  std::signal(SIGUSR1, [](int) {});
  std::atomic<bool> stop{false};
  std::thread rain([&] {
    while (!stop)
      ::kill(::getpid(), SIGUSR1);
  });
  this->run([] {
    for (int i = 0; i < 300; ++i) {
      signal_set signals{SIGUSR1};
      const bool wanted = i % 3 == 0;
      EXPECT_EQ(wanted ? signals.wait(generous()) : SIGUSR1, SIGUSR1);
    }
  });
  stop = true;
  rain.join();
  std::signal(SIGUSR1, SIG_DFL);
}

}  // namespace
