// Long loops that are counted: one check for N rounds.
//
// A loop that calls nothing, and that is left where what it counts reaches a bound, or by other ways, is put
// into another one (strip mining). It runs in strips of at most N rounds:
//
//   loop:                             strip: end = i + min(bound - i, (N - 1) * step);
//     ...                             loop:
//     i += step;                        ...; i += step;
//     if (i != bound) goto loop;        if (i != end) goto loop;
//                                     if (i != bound) goto strip;
//
// The new loop gets the check. In the old one there is no more to do than before, and scalar evolution proves
// its N (trip_counts.hpp), so it needs none. N is such that a strip is half as long as a loop may be without
// a check, by what the target says of its code's size.
//
// A test for less has a strip's end at min(bound, i + N * step), and the step may be a variable. That the
// loop reaches it within N rounds follows from how it is computed, and from i not wrapping: this pass marks
// it.
//
// A loop with loops in it is treated so, too, where they have a bound, or few rounds go through them: those
// count nothing for N, and where that is too little for the rounds that do, one more check stands on their
// way.
//
// It is done late, after vectorization, and not where code shall be small.
//
// Source: Jaaskelainen 2008, section 6, announces that checks are left out by worst-case run time.
#pragma once

#include <llvm/IR/PassManager.h>

namespace sennit::compiler {

class strip_mine : public llvm::PassInfoMixin<strip_mine> {
public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace sennit::compiler
