// Short loops that nobody counts: one check for four rounds.
//
// What strip_mine.hpp cannot do (several ways out, a bound that is not known) is done here by copies: four
// rounds follow each other, each with its own ways out, and one of them has the check. Only loops that call
// nothing and are so short that a check is a good part of them; not where code shall be small.
//
// Source: Jaaskelainen 2008, section 6 (see strip_mine.hpp).
#pragma once

#include <llvm/IR/PassManager.h>

namespace sennit::compiler {

class unroll_unmarked : public llvm::PassInfoMixin<unroll_unmarked> {
public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace sennit::compiler
