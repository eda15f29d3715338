// Exception servers when their runtime ends, and receivers of faults that are stopped.
#include <chrono>
#include <memory>

#include "exception_servers.hpp"
#include "sennit/become.hpp"

namespace sennit {
namespace {

template <class Kind>
class ExceptionServerEnd : public exception_servers<Kind> {};

KIND_TEST(ExceptionServerEnd, AFaultThatWaitsWhenTheRuntimeEndsEndsItsFiber) {
  int ended = 0;
  for (const bool received : {false, true}) {
    typename Kind::exception_server server;
    bool waits = false;
    {
      Kind ends;
      ends.run([&] {
        auto faulty = Kind::spawn([&] {
          const counts_its_end outer{ended};
          guarded(server, [&] {
            waits = true;
            write_to(nowhere);
          });
        });
        auto keeps = Kind::spawn([&] {
          if (!received)
            return;
          auto fault = server.receive();
          typename Kind::event never;
          never.wait();
        });
        while (!waits)
          Kind::yield();
        for (int i = 0; i < 10; ++i)
          Kind::sleep_for(std::chrono::milliseconds(1));
        faulty.detach();
        keeps.detach();
      });
    }
  }
  EXPECT_EQ(ended, 2);
}

// And it does not resume in a handler of killed.
KIND_TEST(ExceptionServerEnd, WhoLeavesWhenTheRuntimeEndsIsNotKilled) {
  bool caught = false;
  typename Kind::exception_server server;
  bool waits = false;
  {
    Kind ends;
    ends.run([&] {
      Kind::spawn([&] {
        try {
          guarded(server, [&] {
            waits = true;
            write_to(nowhere);
          });
        } catch (const killed&) {
          caught = true;
          typename Kind::event never;
          never.wait();
        }
      }).detach();
      while (!waits)
        Kind::yield();
      for (int i = 0; i < 10; ++i)
        Kind::sleep_for(std::chrono::milliseconds(1));
    });
  }
  EXPECT_FALSE(caught);
}

// A receiver of faults is stopped as in any wait.
KIND_TEST(ExceptionServerEnd, StopsReceiving) {
  const closed_page page;
  this->run([&] {
    typename Kind::exception_server server;
    {
      typename Kind::scope servers;
      servers.spawn([&] {
        for (;;) {
          auto fault = server.receive();
          page.open();
          fault.reply(verdict::resume);
        }
      });
      this->served(server, [&] { *page.at() = 1; }).join();
      servers.request_stop();
    }
    EXPECT_EQ(*page.at(), 1);
  });
}

// Whether it is closed or destroyed; and faults are passed on from then on.
KIND_TEST(ExceptionServerEnd, WhoReceivesFromOneThatIsClosedGetsAnEmptyFault) {
  using fault = typename Kind::exception_server::fault;
  for (const bool is_destroyed : {false, true})
    this->run([&] {
      auto server = std::make_unique<typename Kind::exception_server>();
      const auto late = std::chrono::steady_clock::now() + std::chrono::hours(1);
      int empty = 0;
      const auto count = [&empty](fault&& received) {
        EXPECT_FALSE(received);
        received.reply(verdict::resume);  // for no fault
        ++empty;
      };
      auto receives = start<Kind>([&] { count(server->receive()); });
      auto receives_until = start<Kind>([&] { count(server->receive_until(late)); });
      auto without = Kind::spawn(become(server->receiving(), count));
      auto without_until = Kind::spawn(become(server->receiving_until(late), count));
      until_stackless<Kind>(2);
      if (is_destroyed)
        server.reset();
      else
        server->close();
      receives.join();
      receives_until.join();
      without.join();
      without_until.join();
      EXPECT_EQ(empty, 4);
      if (is_destroyed)
        return;
      count(server->receive());
      Kind::spawn(become(server->receiving(), count)).join();
      EXPECT_EQ(empty, 6);
    });
}

// A received fault is still answered.
KIND_TEST(ExceptionServerEnd, AFaultThatWasReceivedBeforeTheCloseIsAnswered) {
  const closed_page page;
  this->run([&] {
    typename Kind::exception_server server;
    auto repairs = Kind::spawn([&] {
      auto fault = server.receive();
      server.close();
      page.open();
      fault.reply(verdict::resume);
    });
    this->served(server, [&] { *page.at() = 1; }).join();
    repairs.join();
    EXPECT_EQ(*page.at(), 1);
  });
}

}  // namespace
}  // namespace sennit
