// Units that are optimized at the link (-flto).
#pragma once

#include <llvm/IR/Module.h>

namespace sennit::compiler {

// This one is compiled for the link's optimizer, or is what a link has made of such.
inline bool is_for_link(const llvm::Module& module) {
  return module.getModuleFlag("EnableSplitLTOUnit") != nullptr;  // clang's, thin or not
}

}  // namespace sennit::compiler
