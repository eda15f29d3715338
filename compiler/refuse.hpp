// An LLVM that the plugin was not built for is refused before it can crash.
#pragma once

namespace sennit::compiler {

// Ends the process with a message unless the code at `caller` belongs to the LLVM that the plugin is linked
// with, and that is of the version it was compiled for.
void refuse_other_llvm(const void* caller);

}  // namespace sennit::compiler
