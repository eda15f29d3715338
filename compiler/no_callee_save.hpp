// Functions that switch need not save registers for their callers.
//
// The switch keeps no callee-saved register except the frame and base pointers. So a function that holds a
// switch saves all of them on entry and restores them on return, used or not; so might each of its callers.
// Under the calling convention preserve_none no function does: a caller spills its live values, around the
// call or further out. The pass gives it to functions that hold a switch, and to those in which each path to
// a return leads through a call to such a function (Dolan et al. 2013, section 3.5). All their callers must
// be in sight: they are local to their unit or, if lld loads the plugin, to the whole program.
//
// The function that a context enters is at the end of that chain. It is called from elsewhere. If it is never
// left, by a return or by an exception, it need not save registers either (section 7.5).
#pragma once

namespace llvm {
class PassBuilder;
}

namespace sennit::compiler {

// -mllvm -sennit-no-callee-save; in opt, -passes=sennit-no-callee-save.
void add_no_callee_save(llvm::PassBuilder& builder);

}  // namespace sennit::compiler
