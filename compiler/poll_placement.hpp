// The choice of the places of a function's checks (polls.hpp describes it).
#pragma once

#include <llvm/CodeGen/MachineFunction.h>

#include "poll_code.hpp"

namespace sennit::compiler {

// Inserts the checks. Returns whether it changed the function.
bool place_polls(llvm::MachineFunction& function, poll_code& code);

}  // namespace sennit::compiler
