// Exception servers that wait without a stack.
#include <atomic>
#include <chrono>
#include <stop_token>
#include <vector>

#include "exception_servers.hpp"
#include "sennit/become.hpp"

namespace sennit {
namespace {

template <class Kind>
class ExceptionServerWithoutAStack : public exception_servers<Kind> {};

// Has no stack but while it answers: it kills, so often, and then ends.
template <class Kind>
struct without_stack {
  using fault = typename Kind::exception_server::fault;
  typename Kind::exception_server* faults;
  int left;
  void (*first)() = [] {};

  static continuation answer(without_stack me, fault&& received) {
    me.first();
    EXPECT_TRUE(received);
    EXPECT_EQ(received.kind(), fault_kind::memory);
    received.reply(verdict::kill);
    return --me.left == 0 ? continuation() : me.wait();
  }
  continuation wait() { return become(faults->receiving(), answer, *this); }
};

KIND_TEST(ExceptionServerWithoutAStack, ReceivesWithoutAStack) {
  constexpr int fibers = 10, each = 5;
  std::atomic<int> caught = 0;
  this->run([&] {
    typename Kind::exception_server server;
    auto kills = Kind::spawn(without_stack<Kind>{&server, fibers * each}.wait());
    until_stackless<Kind>(1);
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < fibers; ++i)
      all.push_back(Kind::spawn([&] {
        for (int n = 0; n < each; ++n)
          try {
            guarded(server, [] { write_to(nowhere); });
          } catch (const killed&) {
            ++caught;
          }
      }));
    this->join(all);
    kills.join();
  });
  EXPECT_EQ(caught, fibers * each);
}

KIND_TEST(ExceptionServerWithoutAStack, DeadlinesAndStopsEndAReceiveWithoutAStackToo) {
  using fault = typename Kind::exception_server::fault;
  this->run([&] {
    typename Kind::exception_server server;
    const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(1); };
    EXPECT_FALSE(server.receive_until(soon()));
    int empty = 0;
    const auto count = [&empty](fault&& received) { empty += received ? 0 : 1; };
    Kind::spawn(become(server.receiving_until(soon()), count)).join();
    EXPECT_EQ(empty, 1);
    std::stop_source stop;
    auto stopped = Kind::spawn(become(stoppable(server.receiving(), stop.get_token()), count));
    until_stackless<Kind>(1);
    stop.request_stop();
    stopped.join();
    EXPECT_EQ(empty, 2);
    // In time.
    auto kills = Kind::spawn(become(server.receiving_until(soon() + std::chrono::hours(1)),
                                    [](fault&& received) { received.reply(verdict::kill); }));
    EXPECT_THROW(guarded(server, [] { write_to(nowhere); }), killed);
    kills.join();
  });
}

KIND_TEST(ExceptionServerWithoutAStack, AFaultOfAServerWithoutAStackEndsTheProcess) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    auto faults =
        Kind::spawn([&] { return without_stack<Kind>{&server, 2, [] { write_to(nowhere); }}.wait(); },
                    {.name = "server"});
    this->served(server, [] { write_to(nowhere); }).join();
    faults.join();
  });
  EXPECT_TRUE(result.says("sennit: memory fault (SIGSEGV) at 0x0 in fiber \"server\"\n")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

}  // namespace
}  // namespace sennit
