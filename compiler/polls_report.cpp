#include "polls_report.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <mutex>
#include <optional>
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
llvm::DenseMap<const llvm::Function*, std::array<std::uint64_t, 2>> longest;  // by measure

}  // namespace

std::optional<std::string> called_name(const llvm::MachineInstr& call) {
  for (const llvm::MachineOperand& each : call.operands())
    if (each.isSymbol())
      return each.getSymbolName();
  const llvm::Function* callee = callee_of(call);
  return callee != nullptr ? std::optional(callee->getName().str()) : std::nullopt;
}

void report_polls(const llvm::MachineFunction& function, llvm::StringRef file) {
  const std::lock_guard locked(guard);
  std::set<std::string> unknown;
  const auto most_of = [&](measure of) {
    return distances(function, of,
                     [&](const llvm::MachineInstr& call) -> std::uint64_t {
                       std::string name = called_name(call).value_or("(pointer)");
                       if (llvm::StringRef(name).starts_with(stub_prefix))
                         return 0;
                       const llvm::Function* callee = callee_of(call);
                       const auto known = longest.find(callee);
                       if (callee == nullptr || callee->isInterposable() || known == longest.end()) {
                         unknown.insert(std::move(name));
                         return 0;
                       }
                       return known->second[static_cast<std::size_t>(of)];
                     })
        .most();
  };
  const std::optional<std::uint64_t> instructions = most_of(measure::instructions),
                                     cycles = most_of(measure::cycles);
  if (instructions && cycles)
    longest[&function.getFunction()] = {*instructions, *cycles};

  std::string line;
  llvm::raw_string_ostream text(line);
  text << llvm::demangle(function.getName()) << ": " << llvm::count_if(function, ends_with_check)
       << " checks, ";
  if (instructions && cycles)
    text << "at most " << *instructions << " instructions without, in " << *cycles << " cycles";
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
