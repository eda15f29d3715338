// Code generation of called functions before that of their callers, which so know how far their checks are
// apart.
#pragma once

#include <llvm/IR/Module.h>

namespace sennit::compiler {

// Puts the functions of the module in that order. Functions that call each other keep theirs.
void put_callees_first(llvm::Module& module);

}  // namespace sennit::compiler
