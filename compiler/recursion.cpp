#include "recursion.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/CodeGen/MachineOperand.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>

#include <vector>

namespace sennit::compiler {

namespace {

// Functions of the C library that call nothing of the program's: not what may (qsort, and whatever uses a
// FILE, which fopencookie gives functions of the program's). A program that has its own malloc has a
// definition of it, with a check before what that calls.
bool is_of_library(const llvm::Function& callee) {
  static const llvm::StringSet<> names{"malloc",
                                       "calloc",
                                       "realloc",
                                       "reallocarray",
                                       "free",
                                       "posix_memalign",
                                       "aligned_alloc",
                                       "memcpy",
                                       "memmove",
                                       "memset",
                                       "memcmp",
                                       "bcmp",
                                       "memchr",
                                       "memrchr",
                                       "mempcpy",
                                       "memmem",
                                       "strlen",
                                       "strnlen",
                                       "strcpy",
                                       "stpcpy",
                                       "strncpy",
                                       "strcat",
                                       "strncat",
                                       "strcmp",
                                       "strncmp",
                                       "strchr",
                                       "strrchr",
                                       "strchrnul",
                                       "strstr",
                                       "strspn",
                                       "strcspn",
                                       "strpbrk",
                                       "strcoll",
                                       "strcasecmp",
                                       "strncasecmp",
                                       "strtol",
                                       "strtoul",
                                       "strtoll",
                                       "strtoull",
                                       "strtof",
                                       "strtod",
                                       "atoi",
                                       "atol",
                                       "atof",
                                       "abs",
                                       "labs",
                                       "toupper",
                                       "tolower",
                                       "isalnum",
                                       "isalpha",
                                       "isdigit",
                                       "isspace",
                                       "isxdigit",
                                       "isupper",
                                       "islower",
                                       "ispunct",
                                       "isprint",
                                       "iscntrl",
                                       "isgraph",
                                       "__errno_location",
                                       "__ctype_b_loc",
                                       "__ctype_tolower_loc",
                                       "__ctype_toupper_loc"};
  return callee.isDeclaration() && !callee.hasFnAttribute("no-builtins") && names.contains(callee.getName());
}

bool is_unknown(const llvm::Function& callee) {
  return (callee.isDeclaration() || callee.isInterposable()) && !callee.isIntrinsic() &&
         !callee.hasFnAttribute(llvm::Attribute::NoCallback) && !is_of_library(callee);
}

}  // namespace

const llvm::Function* callee_of(const llvm::MachineInstr& call) {
  for (const llvm::MachineOperand& each : call.operands())
    if (each.isGlobal())
      return llvm::dyn_cast<llvm::Function>(each.getGlobal()->stripPointerCastsAndAliases());
  return nullptr;
}

bool recursion::may_begin_at(const llvm::MachineInstr& call) {
  if (!call.isCall() || function_.hasFnAttribute(llvm::Attribute::NoRecurse))
    return false;
  for (const llvm::MachineOperand& each : call.operands())
    if (each.isSymbol())
      return false;
  const llvm::Function* callee = callee_of(call);
  if (callee == nullptr)
    return true;
  const auto known = known_.find(callee);
  if (known != known_.end())
    return known->second;
  return known_[callee] = comes_back(*callee);
}

bool recursion::comes_back(const llvm::Function& callee) {
  llvm::SmallPtrSet<const llvm::Function*, 32> seen{&callee};
  std::vector<const llvm::Function*> next{&callee};
  while (!next.empty()) {
    const llvm::Function& each = *next.back();
    next.pop_back();
    if (&each == &function_ || is_unknown(each))
      return true;
    for (const llvm::Instruction& instruction : llvm::instructions(each)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr || call->isInlineAsm() || call->hasFnAttr(llvm::Attribute::NoCallback))
        continue;
      const llvm::Function* called = call->getCalledFunction();
      if (called == nullptr)
        return true;
      if (!called->isIntrinsic() && seen.insert(called).second)
        next.push_back(called);
    }
  }
  return false;
}

}  // namespace sennit::compiler
