// Fibers of a local runtime that suspend themselves at different sites: as sites.c. All of a fiber's stack
// counts, from the frame at its top on.
#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "sennit/detail/sched/time_slice.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"

namespace {

volatile long in, out;

template <class Body>
void measure(const char* site, Body body) {
  namespace inner = sennit::detail;
  sennit::local::runtime runtime;
  runtime.run([&] {
    inner::fiber* suspended = nullptr;
    sennit::local::fiber subject = sennit::local::spawn([&] {
      suspended = inner::this_worker()->ready.current;
      body();
    });
    sennit::local::this_fiber::yield();
    const auto* top = reinterpret_cast<const char*>(suspended->frame);
    const auto* low = reinterpret_cast<const char*>(suspended->context);
    constexpr long red_zone = SENNIT_RECORD_SIZE - long{sizeof(sennit_context_record)};
    std::printf("%s\t%ld\n", site, top - low - red_zone);
    sennit::local::this_fiber::yield();
  });
}

}  // namespace

int main() {
  measure("fiber: yield", [] { sennit::local::this_fiber::yield(); });
  measure("fiber: yield, 4 values alive", [] {
    const long a = in, b = in, c = in, d = in;
    sennit::local::this_fiber::yield();
    for (const long each : {a, b, c, d})
      out = each;
  });
  measure("fiber: forced to yield", [] { sennit_forced_yield(); });
  return 0;
}
