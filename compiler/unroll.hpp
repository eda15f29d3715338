// Short loops without a counter: one check for four rounds.
//
// This pass handles loops that strip_mine.hpp cannot (several exits, an unknown bound), by copies. Four
// rounds follow each other, each with its own exits, and one of them has the check. It takes only loops that
// call nothing and are so short that a check is a good part of them, and none in code that is optimized for
// size.
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
