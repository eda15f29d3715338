// Backtraces by _Unwind_Backtrace. They end at a root context's first frame. From a linked context, and from
// a scheduler step, they continue into the context that was left, up to main.
#include "sennit/detail/arch/context.h"

#if !defined(SENNIT_BACKEND_PORTABLE)
#include <gtest/gtest.h>
#include <unwind.h>

#include <ostream>
#include <vector>

#include "unit/arch/backtrace_scenarios.hpp"

namespace scenario {

// Found by GoogleTest.
void PrintTo(const named& n, std::ostream* out) {
  *out << n.name;
}

}  // namespace scenario

namespace {

struct trace {
  std::vector<uintptr_t> pcs;
  std::vector<void*> functions;
  _Unwind_Reason_Code end = _URC_NO_REASON;
};

std::vector<trace> traces;

_Unwind_Reason_Code add_frame(_Unwind_Context* frame, void* argument) {
  auto& t = *static_cast<trace*>(argument);
  const uintptr_t pc = _Unwind_GetIP(frame);
  if (pc == 0)
    return _URC_NO_REASON;  // what follows the outermost frame
  t.pcs.push_back(pc);
  t.functions.push_back(reinterpret_cast<void*>(_Unwind_GetRegionStart(frame)));
  return t.pcs.size() < 200 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

[[gnu::noinline]] void take_trace() {
  trace t;
  t.end = _Unwind_Backtrace(add_frame, &t);
  traces.push_back(t);
}

template <class F>
void* address(F* function) {
  auto at = reinterpret_cast<uintptr_t>(function);
#if defined(__arm__)
  at &= ~uintptr_t{1};  // the bit for Thumb state
#endif
  return reinterpret_cast<void*>(at);
}

size_t place_of(const trace& t, void* function) {
  for (size_t i = 0; i < t.functions.size(); ++i) {
    if (t.functions[i] == function)
      return i;
  }
  return t.functions.size();
}

void plain(support::stack&) {
  take_trace();
}

class Backtrace : public testing::TestWithParam<scenario::named> {};

TEST_P(Backtrace, EndsOrGoesOnWhereItShould) {
  traces.clear();
  scenario::scenario_function run = plain;
  for (int i = 0; i < 2; ++i) {
    __asm__ volatile("" : "+r"(run), "+r"(i));
    scenario::outer_first(run);  // one call site: the frames above it are the same in all traces
    run = GetParam().run;
  }
  ASSERT_EQ(traces.size(), 3u);
  const trace& reference = traces[0];
  const size_t reference_outer = place_of(reference, address(scenario::outer_first));
  ASSERT_LT(reference_outer + 2, reference.pcs.size());

  // Each scenario takes two: at the context's first entry, and when it is resumed.
  for (size_t i = 1; i < traces.size(); ++i) {
    const trace& t = traces[i];
    EXPECT_EQ(t.end, reference.end);
    const size_t inner = place_of(t, address(scenario::inner_second));
    ASSERT_LT(inner + 3, t.pcs.size());
    EXPECT_EQ(t.functions[inner + 1], address(scenario::inner_first));
    if (!GetParam().goes_on) {
      EXPECT_EQ(t.functions.back(), address(sennit_enter_root)) << t.functions.size();
      EXPECT_EQ(place_of(t, address(scenario::outer_first)), t.functions.size());
      EXPECT_LE(t.functions.size(), inner + 5);
      continue;
    }
    const size_t outer = place_of(t, address(scenario::outer_first));
    ASSERT_LT(outer, t.pcs.size());
    EXPECT_LT(place_of(t, address(scenario::outer_second)), outer);
    EXPECT_GT(outer, inner);
    // From there on, frame by frame, it is what a plain call sees.
    const std::vector<uintptr_t> rest(t.pcs.begin() + static_cast<ptrdiff_t>(outer) + 1, t.pcs.end());
    const std::vector<uintptr_t> expected(reference.pcs.begin() + static_cast<ptrdiff_t>(reference_outer) + 1,
                                          reference.pcs.end());
    EXPECT_EQ(rest, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Backtrace, testing::ValuesIn(scenario::all),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace

extern "C" void backtrace_here() {
  take_trace();
}
#endif
