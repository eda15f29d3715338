// How many registers are live, and where the fewest: Jaaskelainen et al. 2008, section 3.1.
#pragma once

namespace sennit::compiler {

// With -mllvm -sennit-live-stats=FILE, each function compiled adds a line to FILE, which
// tools/sennit-live-stats reads:
//
//   {"function": NAME, "points": [N, ...], "at_calls": N, "blocks": [[most, begin, end, least, at_call],
//   ...]}
//
// A point is a place where a call could be inserted: before each instruction that comes to the object file,
// and behind the last one where that is no branch. Its size is how many registers that may be allocated are
// live there. points[i]: how many points have size i; at_calls: how many are next to a call. Of each block:
// the most and the least of its points' sizes, the first's, the last's (which is before the branches), and
// whether one of the least is next to a call (1; 0; -1: there is no call).
void add_live_stats();

}  // namespace sennit::compiler
