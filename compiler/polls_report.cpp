#include "polls_report.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>
#include <set>
#include <string>

#include "append_line.hpp"
#include "distance.hpp"
#include "poll_code.hpp"
#include "recursion.hpp"
#include "verify_polls.hpp"

namespace sennit::compiler {

namespace {

// Of functions that have been compiled. Units of one link are compiled on several threads.
std::mutex guard;
llvm::DenseMap<const llvm::Function*, std::uint64_t> longest;

std::string name_of(const llvm::MachineInstr& call) {
  for (const llvm::MachineOperand& each : call.operands())
    if (each.isSymbol())
      return each.getSymbolName();
  const llvm::Function* callee = callee_of(call);
  return callee != nullptr ? callee->getName().str() : "(pointer)";
}

}  // namespace

void report_polls(const llvm::MachineFunction& function, llvm::StringRef file) {
  const std::lock_guard locked(guard);
  std::set<std::string> unknown;
  const distances between(function, [&](const llvm::MachineInstr& call) -> std::uint64_t {
    std::string name = name_of(call);
    if (llvm::StringRef(name).starts_with(stub_prefix))
      return 0;
    const llvm::Function* callee = callee_of(call);
    const auto known = longest.find(callee);
    if (callee == nullptr || callee->isInterposable() || known == longest.end()) {
      unknown.insert(std::move(name));
      return 0;
    }
    return known->second;
  });
  const std::optional<std::uint64_t> most = between.most();
  if (most)
    longest[&function.getFunction()] = *most;

  std::string line;
  llvm::raw_string_ostream text(line);
  text << llvm::demangle(function.getName()) << ": " << llvm::count_if(function, ends_with_check)
       << " checks, ";
  if (most)
    text << "at most " << *most << " instructions without";
  else
    text << "no bound: a loop that has no check";
  const char* separator = "; calls ";
  for (const std::string& each : unknown) {
    text << separator << llvm::demangle(each);
    separator = ", ";
  }
  text << '\n';
  append_line(function.getFunction().getContext(), file, line);
}

}  // namespace sennit::compiler
