// The assembly of the primitive (swapstack.hpp), of each instruction set that has it. The switch, its record
// and its registers are the library's: include/sennit/detail/arch/x86_64.h and aarch64.h draw them.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace sennit::compiler {

constexpr unsigned few_words = 4;  // in the registers of a C function's arguments
constexpr unsigned most_words = 8;

// The function that the assembly enters, if it is known: a new context's, or the place where the target
// resumes.
struct destination {
  llvm::Function* function = nullptr;
  bool is_new = false;
};

// The operands of the statement are, in this order: the target's register afterwards, the suspended context,
// the words that are received; the target, the words that are sent, and the known function.
struct switch_assembly {
  int record_size, record_frame, record_base;
  bool can_jump_to_known;  // directly, not through the record
  std::string (*text)(bool raw, bool landings_are_marked, const destination& to, unsigned operand_of_known);
  std::string (*constraints)(unsigned received, unsigned sent, bool known);
  llvm::StringRef flag_of_landings;  // the module's flag that resume addresses must be marked
};

// That of the module's target, or null.
const switch_assembly* switch_assembly_for(const llvm::Module& module);

}  // namespace sennit::compiler
