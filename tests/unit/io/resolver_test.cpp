// Names whose resolver does not answer, and hosts of which some addresses do not. This program defines
// getaddrinfo itself: two names are the tests', and all others go to the system's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pool_support.hpp"
#include "sennit/file.hpp"
#include "sennit/look_up.hpp"
#include "support.hpp"
#include "support/consumed.hpp"

// The sanitizers' own, where there is one: it knows what libc writes.
extern "C" [[gnu::weak]] int __interceptor_getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**);

namespace {

using namespace io_test;

constexpr const char* silent_name = "silent.test";
constexpr const char* listed_name = "listed.test";

// The resolver does not answer look-ups of "silent.test" before `answers` opens.
struct silence {
  door answers;
  std::atomic<unsigned> asked{0};
  std::atomic<unsigned> answered{0};
};
std::atomic<silence*> current_silence{nullptr};

class silent_resolver : public silence {
public:
  silent_resolver() { current_silence = this; }
  ~silent_resolver() {
    answers.open();
    while (answered != asked)
      std::this_thread::yield();
    current_silence = nullptr;
  }
};

// The numeric addresses of "listed.test". A look-up that was given up may read them later, also at the
// program's end.
class listed_addresses {
public:
  listed_addresses& operator=(std::vector<std::string> to) {
    const std::lock_guard hold(lock_);
    addresses_ = std::move(to);
    return *this;
  }
  std::vector<std::string> copy() const {
    const std::lock_guard hold(lock_);
    return addresses_;
  }

private:
  mutable std::mutex lock_;
  std::vector<std::string> addresses_;
};
listed_addresses& listed = *new listed_addresses;

int system_getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** result) {
  if (__interceptor_getaddrinfo != nullptr)
    return __interceptor_getaddrinfo(node, service, hints, result);
  static const auto real = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, result);
}

}  // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** result) {
  if (node != nullptr && std::strcmp(node, silent_name) == 0) {
    silence& of = *current_silence;
    ++of.asked;
    of.answers.pass();
    ++of.answered;
    return EAI_AGAIN;
  }
  if (node == nullptr || std::strcmp(node, listed_name) != 0)
    return system_getaddrinfo(node, service, hints, result);
  for (const std::string& each : listed.copy()) {
    if (const int error = system_getaddrinfo(each.c_str(), service, hints, result); error != 0)
      return error;
    while (*result != nullptr)
      result = &(*result)->ai_next;
  }
  return 0;
}

namespace {

template <class Kind>
class Resolver : public kind_test<Kind> {};

// Look-ups that have no deadline, one more than there are threads. Returns when all threads are busy.
template <class Kind>
std::vector<typename Kind::fiber> occupy_look_ups(const silent_resolver& resolver) {
  std::vector<typename Kind::fiber> fibers;
  for (unsigned i = 0; i <= sennit::offload_threads(); ++i)
    fibers.push_back(start<Kind>([] {
      std::error_code error;
      EXPECT_TRUE(sennit::look_up(silent_name, error).empty());
      EXPECT_EQ(error.value(), EAI_AGAIN);
    }));
  while (resolver.asked < sennit::offload_threads())
    Kind::yield();
  return fibers;
}

KIND_TEST(Resolver, LookUpsThatGetNoAnswerDoNotDelayFilesOrOffloadedCalls) {
  const pool_of few(2);
  silent_resolver resolver;
  this->run([&] {
    auto fibers = occupy_look_ups<Kind>(resolver);
    EXPECT_FALSE(sennit::file::open("/proc/self/stat").read_all().empty());
    EXPECT_EQ(sennit::offload([] { return 7; }), 7);
    EXPECT_EQ(resolver.answered, 0u);
    resolver.answers.open();
    for (auto& each : fibers)
      each.join();
  });
}

KIND_TEST(Resolver, BusyOffloadedCallsDoNotDelayLookUps) {
  const pool_of few(2);
  door wait_here;
  this->run([&] {
    std::vector<typename Kind::fiber> fibers;
    std::atomic<unsigned> begun{0};
    for (int i = 0; i < 3; ++i)
      fibers.push_back(start<Kind>([&] {
        sennit::offload([&] {
          ++begun;
          wait_here.pass();
        });
      }));
    while (begun < 2)
      Kind::yield();
    EXPECT_EQ(sennit::look_up("127.0.0.1"), std::vector<std::string>{"127.0.0.1"});
    EXPECT_EQ(begun, 2u);
    wait_here.open();
    for (auto& each : fibers)
      each.join();
  });
}

// Whether the resolver has begun or the look-up waits for a thread.
KIND_TEST(Resolver, ALookUpGivesUpAtItsDeadline) {
  const pool_of one(1);
  silent_resolver resolver;
  this->run([&] {
    for (int i = 0; i < 3; ++i) {
      std::error_code error;
      EXPECT_TRUE(sennit::look_up(silent_name, error, steady::now() + 1ms).empty());
      EXPECT_EQ(error, std::errc::timed_out);
    }
    auto fibers = occupy_look_ups<Kind>(resolver);
    std::error_code error;
    sennit::look_up("localhost", error, steady::time_point::min());
    EXPECT_EQ(error, std::errc::timed_out);
    tcp_stream::connect(silent_name, 1, error, steady::now() + 1ms);
    EXPECT_EQ(error, std::errc::timed_out);
    resolver.answers.open();
    for (auto& each : fibers)
      each.join();
  });
}

// If one silent address used the whole time, no deadline would be long enough for a connection. A busy
// machine needs longer ones than an idle machine.
KIND_TEST(Resolver, AnAddressThatDoesNotAnswerUsesOnlyItsShareOfTheDeadline) {
  this->run([] {
    const silent_listener silent;
    const tcp_listener answering("127.0.0.2", silent.listener.port());
    listed = {"127.0.0.1", "127.0.0.1", "127.0.0.2"};
    std::error_code error = std::make_error_code(std::errc::timed_out);
    for (auto time = 60ms; error == std::errc::timed_out && time < 10s; time *= 2)
      tcp_stream::connect(listed_name, answering.port(), error, steady::now() + time);
    EXPECT_FALSE(error) << error.message();
    listed = {"127.0.0.1", "127.0.0.1", "127.0.0.1"};  // the last one's error is reported
    tcp_stream::connect(listed_name, answering.port(), error, steady::now() + 3ms);
    EXPECT_EQ(error, std::errc::timed_out);
    tcp_stream::connect(listed_name, answering.port(), error, steady::time_point::min());
    EXPECT_EQ(error, std::errc::timed_out);
  });
}

KIND_TEST(Resolver, AnAddressThatRefusesLeavesItsShareToTheOthers) {
  this->run([] {
    const tcp_listener answering("127.0.0.2", 0);
    listed = {"127.0.0.3", "127.0.0.2"};
    std::error_code error;
    EXPECT_TRUE(tcp_stream::connect(listed_name, answering.port(), error, generous()).is_open());
    EXPECT_FALSE(error) << error.message();
    EXPECT_TRUE(tcp_stream::connect(listed_name, answering.port()).is_open());  // without a deadline
    listed = {"127.0.0.3", "127.0.0.4"};
    EXPECT_EQ(error_of([&] { tcp_stream::connect(listed_name, answering.port()); }),
              std::errc::connection_refused);
  });
}

// A row of docs/explanation/waits.md.
KIND_TEST(Resolver, ALookUpThatGivesUpLosesItsResult) {
  using row = sennit::consumed_row<Kind>;
  const auto make = [] {
    auto resolver = std::make_shared<silent_resolver>();
    return row{[](steady::time_point d) {
                 std::error_code error;
                 EXPECT_TRUE(sennit::look_up(silent_name, error, d).empty());
                 EXPECT_TRUE(error == std::errc::timed_out || error.value() == EAI_AGAIN) << error;
                 return error != std::errc::timed_out;
               },
               [=](typename Kind::fiber*) { resolver->answers.open(); },
               [=](sennit::wait_end) {
                 // The resolver is asked anew.
                 std::error_code error;
                 const unsigned before = resolver->asked;
                 EXPECT_TRUE(sennit::look_up(silent_name, error).empty());
                 EXPECT_GT(resolver->asked, before);
               }};
  };
  const sennit::named_row<Kind> look_up{"look_up", sennit::takes::deadline, sennit::waiters::fibers, make};
  this->run([&] { sennit::check_consumed(look_up, 6); });
}

}  // namespace
