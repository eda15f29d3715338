// Long loops that are counted: one check for N rounds.
//
// The pass puts a loop into another one (strip mining). The loop must call nothing, and end when a counter
// reaches a bound, or by other ways. It runs in strips of at most N rounds:
//
//   loop:                             strip: end = i + min(bound - i, (N - 1) * step);
//     ...                             loop:
//     i += step;                        ...; i += step;
//     if (i != bound) goto loop;        if (i != end) goto loop;
//                                     if (i != bound) goto strip;
//
// The new loop gets the check. The old one has no more work than before. Scalar evolution proves its N
// (trip_counts.hpp), so it needs none. N makes a strip half as long as a loop may be without a check, by the
// target's estimate of its code's size.
//
// For a test for less, a strip ends at min(bound, i + N * step), and the step may be a variable. The loop
// reaches it within N rounds because of how it is computed, and because i does not wrap: this pass marks it.
//
// A loop with inner loops is treated so, too, if these have a bound, or if few rounds go through them: those
// count nothing for N, and if that is too little for the rounds that do, one more check stands on their path.
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
