// Names to addresses. Only names that need no network.
#include "sennit/look_up.hpp"

#include <gtest/gtest.h>
#include <netdb.h>

#include <algorithm>
#include <string>

#include "sennit/tcp_listener.hpp"
#include "support.hpp"

namespace {

using sennit::kind_test;
using sennit::look_up;
using sennit::tcp_listener;
using sennit::tcp_stream;

template <class Kind>
class LookUp : public kind_test<Kind> {};

bool is_loopback(const std::string& address) {
  return address == "127.0.0.1" || address == "::1";
}

KIND_TEST(LookUp, KnowsThisMachine) {
  this->run([] {
    const auto addresses = look_up("localhost");
    EXPECT_FALSE(addresses.empty());
    EXPECT_TRUE(std::ranges::all_of(addresses, is_loopback));
  });
  EXPECT_FALSE(look_up("localhost").empty()) << "outside of a fiber";
}

KIND_TEST(LookUp, TakesAddressesAsTheyAre) {
  this->run([] { EXPECT_EQ(look_up("127.0.0.1"), std::vector<std::string>{"127.0.0.1"}); });
}

KIND_TEST(LookUp, SaysThatANameIsNobodys) {
  this->run([] {
    for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string(5000, 'x')}) {
      std::error_code error;
      EXPECT_TRUE(look_up(name, error).empty());
      EXPECT_EQ(error.category(), sennit::lookup_category());
      EXPECT_FALSE(error.message().empty());
    }
    EXPECT_THROW(look_up(""), std::system_error);
  });
}

KIND_TEST(LookUp, AStreamConnectsToAName) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    auto server = Kind::spawn([&] { listener.accept().write_all("x"); });
    tcp_stream client = tcp_stream::connect("localhost", listener.port());
    char got[1];
    EXPECT_EQ(client.read_some(got), 1u);
    server.join();
  });
}

}  // namespace
