// What gdb_backtrace_test.py looks at: runs every scenario, naming each before.
#include <cstdio>

#include "unit/arch/backtrace_scenarios.hpp"

extern "C" {

const char* volatile backtrace_scenario;
volatile bool backtrace_goes_on;

[[gnu::noinline]] void backtrace_here() {
  __asm__ volatile("");
}
}

int main() {
  for (const scenario::named& each : scenario::all) {
    backtrace_scenario = each.name;
    backtrace_goes_on = each.goes_on;
    scenario::outer_first(each.run);
  }
  std::puts("done");
}
