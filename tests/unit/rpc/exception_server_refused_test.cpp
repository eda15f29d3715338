// Where a fault has no server, though its fiber has: the process ends.
#include <signal.h>

#include <string>

#include "exception_servers.hpp"
#include "sennit/generator.hpp"

namespace sennit {
namespace {

template <class Kind>
class ExceptionServerRefused : public exception_servers<Kind> {
protected:
  // A child with a fiber "faulty", which a server would kill if it were asked.
  template <class Function>
  static outcome with_killer(Function function) {
    return exception_servers<Kind>::dies([&] {
      typename Kind::exception_server server;
      const typename Kind::runtime_exception_guard all(server);
      auto kills = exception_servers<Kind>::serve(server, 1, [](auto&) {
        std::fputs("the server was asked\n", stderr);
        return verdict::kill;
      });
      Kind::spawn(function, {.name = "faulty"}).join();
      kills.join();
    });
  }
};

// Maybe in the middle of a switch.
KIND_TEST(ExceptionServerRefused, AnOverflowOfAGenerator) {
  const outcome result = this->with_killer([] {
    generator<int> body([](auto& yield) { yield(descend(0)); });
    static_cast<void>(body.begin());
  });
  EXPECT_TRUE(result.says("sennit: stack overflow in coroutine (unnamed): its stack has ")) << result;
  EXPECT_FALSE(result.says("the server was asked")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

// One that has a stack of its own.
KIND_TEST(ExceptionServerRefused, AFaultInASignalHandler) {
  const outcome result = this->with_killer([] {
    struct sigaction faults = {};
    faults.sa_flags = SA_ONSTACK;
    faults.sa_handler = [](int) { write_to(nowhere); };
    sigaction(SIGUSR1, &faults, nullptr);
    ::raise(SIGUSR1);
  });
  EXPECT_FALSE(result.says("the server was asked")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

// Of a fiber that leaves for that.
KIND_TEST(ExceptionServerRefused, AFaultWhileTheRuntimeEnds) {
  const outcome result = support::in_child_with<Kind>([] {
    typename Kind::exception_server server;
    Kind ends;
    ends.run([&] {
      bool waits = false;
      Kind::spawn(
          [&waits, &server] {
            const typename Kind::exception_guard guard(server);
            struct faults_at_its_end {
              ~faults_at_its_end() { write_to(nowhere); }
            } const last;
            waits = true;
            typename Kind::event never;
            never.wait();
          },
          {.name = "faulty"})
          .detach();
      while (!waits)
        Kind::yield();
      Kind::spawn(
          [&server] {
            server.receive();
            std::fputs("the server was asked\n", stderr);
          },
          {.name = "server"})
          .detach();
    });
  });
  EXPECT_TRUE(result.says("sennit: memory fault (SIGSEGV) at 0x0 in fiber \"faulty\"\n")) << result;
  EXPECT_FALSE(result.says("the server was asked")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

}  // namespace
}  // namespace sennit
