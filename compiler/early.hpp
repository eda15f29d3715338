// Functions that run before there is thread-local storage.
//
// A static executable calls the resolvers of ifuncs (those of target_clones, too) while it relocates itself,
// and allocates thread-local storage after that. A check would read an address that is not mapped. So a
// resolver is no-yield code (no_yield.hpp), and so is each function of the unit that it calls, directly or
// not, or passes to a call. Functions that other code uses as well keep their checks: the resolver gets a
// copy without. Locks of libc are not counted there either, as the count is thread-local.
//
// Functions of other units are out of sight, except at a full link (-flto): docs/explanation/preemption.md.
#pragma once

#include <llvm/IR/Module.h>

namespace sennit::compiler {

// Returns whether it changed the module.
bool keep_checks_from_early_functions(llvm::Module& module);

}  // namespace sennit::compiler
