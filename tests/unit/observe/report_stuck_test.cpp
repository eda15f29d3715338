// runtime_options::report_stuck_after: the fibers that are reported, once, and those that are not.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "sennit/channel.hpp"
#include "sennit/offload.hpp"
#include "sennit/runtime.hpp"
#include "support/reports.hpp"
#include "support/signal_frames.hpp"

using namespace std::chrono_literals;

// To be found in backtraces: neither inlined nor left by a jump.
extern "C" {
[[gnu::noinline]] void stuck_test_spin(const std::atomic<bool>& until) {
  while (!until)
    __asm__ volatile("");
}
[[gnu::noinline]] void stuck_test_read(int from) {
  char byte;
  while (::read(from, &byte, 1) < 0 && errno == EINTR) {
  }
  __asm__ volatile("");
}
}

namespace {

const std::string stuck_report = "is stuck: it has run fiber";

class ReportStuck : public testing::TestWithParam<unsigned> {
protected:
  const stderr_file errors;
  std::atomic<bool> done{false};
};

TEST_P(ReportStuck, AFiberThatSpinsOncePerEpisode) {
  sennit::runtime runtime({.workers = GetParam(), .report_stuck_after = 50ms});
  auto spinner = runtime.spawn([&] { stuck_test_spin(done); }, {.name = "spinner"});
  EXPECT_TRUE(errors.comes(stuck_report));
  std::this_thread::sleep_for(300ms);
  done = true;
  spinner.join();
  const std::string text = errors.text();
  EXPECT_EQ(errors.count(stuck_report), 1) << text;
  EXPECT_NE(text.find("sennit: runtime 1: worker "), std::string::npos) << text;
  EXPECT_NE(text.find(" \"spinner\" for "), std::string::npos) << text;
  if (has_backtraces_of_running && unwinds_signal_frames) {
    EXPECT_NE(text.find("stuck_test_spin"), std::string::npos) << text;
  }

  done = false;
  auto again = runtime.spawn([&] { stuck_test_spin(done); }, {.name = "again"});
  EXPECT_TRUE(errors.comes(stuck_report, 2)) << errors.text();
  done = true;
  again.join();
  EXPECT_NE(errors.text().find(" \"again\" for "), std::string::npos) << errors.text();
}

// One fiber, with a dispatch between the two.
TEST_P(ReportStuck, TheSameFiberAgainOnceItHasYielded) {
  sennit::runtime runtime({.workers = GetParam(), .report_stuck_after = 50ms});
  std::atomic<bool> yielded{false};
  auto spinner = runtime.spawn([&] {
    stuck_test_spin(done);
    sennit::this_fiber::yield();
    stuck_test_spin(yielded);
  });
  EXPECT_TRUE(errors.comes(stuck_report));
  done = true;
  EXPECT_TRUE(errors.comes(stuck_report, 2)) << errors.text();
  yielded = true;
  spinner.join();
}

TEST_P(ReportStuck, AFiberInASystemCall) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  sennit::runtime runtime({.workers = GetParam(), .report_stuck_after = 50ms});
  auto reader = runtime.spawn([&] { stuck_test_read(pipe[0]); }, {.name = "reader"});
  EXPECT_TRUE(errors.comes(stuck_report));
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(::write(pipe[1], "x", 1), 1);
  reader.join();
  const std::string text = errors.text();
  EXPECT_EQ(errors.count(stuck_report), 1) << text;
  EXPECT_NE(text.find(" \"reader\" for "), std::string::npos) << text;
  if (has_backtraces && unwinds_signal_frames) {
    EXPECT_NE(text.find("stuck_test_read"), std::string::npos) << text;
  }
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_P(ReportStuck, AWorkerThatCannotBeStoppedWithoutABacktrace) {
  sennit::runtime runtime({.workers = GetParam(), .report_stuck_after = 50ms});
  auto spinner = runtime.spawn([&] {
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    pthread_sigmask(SIG_BLOCK, &urgent, nullptr);
    stuck_test_spin(done);
    pthread_sigmask(SIG_UNBLOCK, &urgent, nullptr);
  });
  EXPECT_TRUE(errors.comes("its thread could not be stopped"));
  done = true;
  spinner.join();
}

// Neither those that wait nor those that yield, however long that takes.
TEST_P(ReportStuck, NobodyWhoseWorkerDispatchesOrRests) {
  sennit::runtime runtime({.workers = GetParam(), .report_stuck_after = 1s});
  runtime.run([&] {
    sennit::channel<int> never(1);
    auto waits = sennit::spawn([&] { never.receive(); });
    auto yields = sennit::spawn([&] {
      while (!done)
        sennit::this_fiber::yield();
    });
    sennit::offload([] { std::this_thread::sleep_for(1200ms); });
    done = true;
    yields.join();
    sennit::this_fiber::sleep_for(1200ms);
    never.close();
    waits.join();
  });
  EXPECT_EQ(errors.text(), "");
}

TEST_P(ReportStuck, NobodyWhenItIsOff) {
  for (const std::chrono::nanoseconds off : {0ns, -1ns, std::chrono::nanoseconds::max()}) {
    done = false;
    sennit::runtime watched({.workers = 1, .report_stuck_after = 10ms});  // its thread looks, too
    sennit::runtime runtime({.workers = GetParam(), .report_stuck_after = off});
    auto spinner = runtime.spawn([&] { stuck_test_spin(done); });
    std::this_thread::sleep_for(100ms);
    done = true;
    spinner.join();
  }
  EXPECT_EQ(errors.text(), "");
}

TEST_P(ReportStuck, WhileRuntimesComeAndGo) {
  for (int i = 0; i < 100; ++i) {
    sennit::runtime runtime({.workers = GetParam(), .report_stuck_after = 1ns});
    auto spinner = runtime.spawn([] {
      const auto end = std::chrono::steady_clock::now() + 3ms;
      while (std::chrono::steady_clock::now() < end) {
      }
    });
    if (i % 2 == 0)
      spinner.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, ReportStuck, testing::Values(1u, 2u),
                         [](const auto& workers) { return "of" + std::to_string(workers.param); });

}  // namespace
