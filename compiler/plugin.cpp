// How clang, opt and lld find the passes.
//
// One shared object serves two loaders. As a front-end plugin (-fplugin=) it is only opened, early enough for
// its options to be known when -mllvm is read. As a pass plugin (-fpass-plugin=, --load-pass-plugin=) it is
// asked for its passes. Both use the LLVM that the plugin was built for, or none: refuse.hpp.
#include <llvm/Passes/PassPlugin.h>

#include "block_trace.hpp"
#include "fiber_tls.hpp"
#include "ir_polls.hpp"
#include "live_stats.hpp"
#include "no_callee_save.hpp"
#include "polls.hpp"
#include "refuse.hpp"
#include "stale_tls.hpp"
#include "swapstack.hpp"

namespace {

void add_passes(llvm::PassBuilder& builder) {
  sennit::compiler::add_swapstack(builder);   // before those that look for switches
  sennit::compiler::add_tls_report(builder);  // of what the source asks for
  sennit::compiler::add_fiber_tls(builder);
  sennit::compiler::add_no_callee_save(builder);
  sennit::compiler::add_live_stats();  // of the code as it is without polls
  sennit::compiler::add_block_trace();
  sennit::compiler::add_polls(builder);
  sennit::compiler::add_ir_polls(builder);
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  sennit::compiler::refuse_other_llvm(__builtin_return_address(0));
  sennit::compiler::options_have_passes();
  return {LLVM_PLUGIN_API_VERSION, "sennit", SENNIT_VERSION, add_passes};
}
