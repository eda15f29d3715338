// What a wait in a port has consumed when it was cancelled or timed out: rows of docs/explanation/waits.md,
// also if the awaited thing comes at the same time.
#include "support/consumed.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/deadlines.hpp"

namespace sennit {
namespace {

const std::string text(50, 'a');
constexpr auto long_ago = deadline_type{};
using support::generous;

template <class Kind>
std::vector<named_row<Kind>> port_rows() {
  using row = consumed_row<Kind>;
  using handle = typename Kind::fiber*;
  using port = typename Kind::template port<std::string, int>;
  struct scene {
    port p;
    bool taken = false;
    bool wanted = false;
    typename Kind::fiber caller;
  };
  std::vector<named_row<Kind>> all;
  const auto add = [&all](const char* name, std::function<row()> make, takes time = takes::deadline) {
    all.push_back({name, time, waiters::any, std::move(make)});
  };
  // Takes the request, if there is one.
  const auto serve = [](scene& s, bool answers) {
    if (auto request = s.p.receive_until(long_ago)) {
      s.taken = true;
      EXPECT_EQ(*request, text);
      if (answers)
        s.wanted = request.reply(7);
    }
  };
  add("port call", [serve] {
    auto s = std::make_shared<scene>();
    row made{[=](deadline_type d) { return s->p.call_until(text, d) == 7; }, [=](handle) { serve(*s, true); },
             [=](wait_end end) { EXPECT_EQ(s->wanted, end == wait_end::served); }};
    return made;
  });
  add("port call, taken", [] {
    // A server has the request already, when the caller gives up.
    struct served {
      port p;
      typename port::incoming request;
      bool wanted = false;
    };
    auto s = std::make_shared<served>();
    row made{[=](deadline_type d) { return s->p.call_until(text, d) == 7; },
             [=](handle) {
               if (s->request)
                 s->wanted = s->request.reply(7);
             },
             [=](wait_end end) { EXPECT_EQ(s->wanted, end == wait_end::served); }};
    made.wait_behind = [=] { s->request = s->p.receive_until(long_ago); };
    return made;
  });
  add(
      "port send",
      [serve] {
        auto s = std::make_shared<scene>();
        return row{[=](deadline_type) { return s->p.send(text); },
                   [=](handle) {
                     serve(*s, false);
                     s->p.close();
                   },
                   [=](wait_end end) {
                     if (end != wait_end::served) {
                       EXPECT_FALSE(s->taken);
                     }
                   }};
      },
      takes::nothing);
  add("port receive", [] {
    auto s = std::make_shared<scene>();
    return row{[=](deadline_type d) {
                 auto request = s->p.receive_until(d);
                 const bool received = bool(request);
                 if (received) {
                   EXPECT_TRUE(request.reply(1));
                 }
                 return received;
               },
               [=](handle) { s->caller = start<Kind>([s] { EXPECT_EQ(s->p.call(text), 1); }); },
               [=](wait_end end) {
                 if (end != wait_end::served) {
                   auto request = s->p.receive();
                   EXPECT_EQ(*request, text);
                   request.reply(1);
                 }
                 s->caller.join();
               }};
  });
  add(
      "port serve",
      [] {
        auto s = std::make_shared<scene>();
        return row{[=](deadline_type) {
                     s->p.serve([](const std::string&) { return 1; });
                     return true;
                   },
                   [=](handle) { s->p.close(); }, [=](wait_end) { EXPECT_TRUE(s->p.closed()); }};
      },
      takes::nothing);
  return all;
}

template <class Kind>
class ConsumedInPorts : public kind_test<Kind> {};

KIND_TEST(ConsumedInPorts, ByWaits) {
  for (const named_row<Kind>& each : port_rows<Kind>())
    this->run([&] { check_consumed(each, 12); });
}

}  // namespace
}  // namespace sennit
