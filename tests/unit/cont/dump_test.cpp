// What a dump says of fibers without a stack.
#include "sennit/dump.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "sennit/become.hpp"
#include "support/kinds.hpp"
#include "unit/sched/reports.hpp"

[[gnu::noinline]] sennit::continuation dump_test_goes_on(int* to, std::optional<int> value) {
  *to = *value;
  return {};
}

namespace sennit {
namespace {

template <class Kind>
class StacklessDump : public kind_test<Kind> {};

KIND_TEST(StacklessDump, SaysWhatItWaitsForAndWhereItGoesOn) {
  std::string dump;
  int value = 0;
  this->run([&] {
    typename Kind::template channel<int> channel;
    auto waits = Kind::spawn([&] { return become(channel.receiving(), dump_test_goes_on, &value); },
                             {.name = "waits"});
    until_stackless<Kind>(1);
    const memory_file file;
    sennit::dump(file.fd());
    dump = file.text();
    channel.send(5);
    waits.join();
  });
  EXPECT_EQ(value, 5);
  EXPECT_NE(dump.find("\"waits\": parked: channel receive, without a stack; goes on in "), std::string::npos)
      << dump;
  EXPECT_NE(dump.find("dump_test_goes_on"), std::string::npos) << dump;
}

}  // namespace
}  // namespace sennit
