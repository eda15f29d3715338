// Ports: the runtime's end finds callers and servers, with and without stacks, in all places.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "ports.hpp"
#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::closed_error;
using sennit::error_of;

template <class Kind>
class PortsAtTheEnd : public sennit::port_test<Kind> {};

template <class Kind>
void end_with(bool taken, bool stackless) {
  using numbers = typename Kind::template port<int, int>;
  numbers port;
  typename numbers::incoming kept;  // outlives the runtime
  std::atomic<int> waiting = 0;
  const auto token = std::make_shared<int>(0);
  {
    Kind ending;
    ending.run([&] {
      if (stackless) {
        Kind::spawn([&, token] {
          ++waiting;
          return become(
              port.calling(1), [](const std::shared_ptr<int>&, typename numbers::answer) { FAIL(); }, token);
        }).detach();
      } else {
        Kind::spawn([&, token] {
          ++waiting;
          port.call(1);
          FAIL();
        }).detach();
      }
      while (waiting == 0)
        Kind::yield();
      Kind::sleep_for(1ms);
      if (taken)
        kept = port.receive();
    });
  }
  EXPECT_EQ(token.use_count(), 1);  // all that they held is destroyed
  EXPECT_EQ(bool(kept), taken);
  if (taken) {
    EXPECT_FALSE(kept.reply(1));
  }
}

KIND_TEST(PortsAtTheEnd, TheEndFindsCallers) {
  for (const bool taken : {false, true})
    for (const bool stackless : {false, true})
      end_with<Kind>(taken, stackless);
}

KIND_TEST(PortsAtTheEnd, TheEndFindsServers) {
  for (const bool stackless : {false, true}) {
    typename PortsAtTheEnd<Kind>::numbers port;
    {
      Kind ending;
      ending.run([&] {
        auto server =
            stackless ? PortsAtTheEnd<Kind>::serve_without_a_stack(port) : PortsAtTheEnd<Kind>::serve(port);
        EXPECT_EQ(port.call(2), 4);
        server.detach();
      });
    }
    EXPECT_EQ(port.closed(), !stackless);  // no fiber is left in serve()
    port.close();
  }
}

// A server whose callers run its function ends with them, closed before or not.
KIND_TEST(PortsAtTheEnd, TheEndFindsCallersInside) {
  for (const bool closed : {false, true}) {
    typename PortsAtTheEnd<Kind>::numbers port;
    std::atomic<bool> inside = false;
    {
      Kind ending;
      ending.run([&] {
        Kind::spawn([&] {
          port.serve_in_callers([&](int x) {
            inside = true;
            Kind::sleep_for(1h);
            return x;
          });
        }).detach();
        Kind::spawn([&] { port.call(1); }).detach();
        while (!inside)
          Kind::sleep_for(1ms);
        if (closed)
          port.close();
      });
    }
    EXPECT_TRUE(port.closed());
  }
}

// A request may do anything when it is destroyed.
KIND_TEST(PortsAtTheEnd, RequestsAreDestroyedOutsideOfTheLock) {
  struct closes {
    using port_type = typename Kind::template port<closes, int>;
    port_type* port = nullptr;
    explicit closes(port_type* at) noexcept : port(at) {}
    closes(closes&& other) noexcept : port(std::exchange(other.port, nullptr)) {}
    ~closes() {
      if (port != nullptr)
        port->close();
    }
  };
  this->run([] {
    typename Kind::template port<closes, int> port;
    auto waiting = sennit::start<Kind>([&] { EXPECT_EQ(port.call(closes(nullptr)), 1); });
    Kind::sleep_for(1ms);
    auto last =
        sennit::start<Kind>([&] { EXPECT_EQ(error_of([&] { port.call(closes(&port)); }), closed_error); });
    Kind::sleep_for(1ms);
    auto next = port.receive();
    EXPECT_FALSE(next->port);
    port.close();
    EXPECT_TRUE(next.reply(1));
    waiting.join();
    last.join();
    EXPECT_EQ(error_of([&] { port.call(closes(&port)); }), closed_error);
  });
}

// One that serves a call ends with its caller, in one runtime.
KIND_TEST(PortsAtTheEnd, TheEndFindsBoth) {
  for (const bool stackless : {false, true}) {
    typename PortsAtTheEnd<Kind>::numbers port;
    Kind ending;
    ending.run([&] {
      std::atomic<bool> has_it = false;
      Kind::spawn([&] {
        port.serve([&](int x) {
          has_it = true;
          Kind::sleep_for(1h);
          return x;
        });
      }).detach();
      if (stackless)
        Kind::spawn([&] { return become(port.calling(1), [](auto) { FAIL(); }); }).detach();
      else
        Kind::spawn([&] { port.call(1); }).detach();
      while (!has_it)
        Kind::sleep_for(1ms);
    });
  }
}

}  // namespace
