#include "polls_at_link.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <mutex>
#include <vector>

#include "early.hpp"
#include "no_yield.hpp"

namespace sennit::compiler {

namespace {

constexpr llvm::StringLiteral attribute = "sennit-polls";
constexpr llvm::StringLiteral prepared = "prepared";
constexpr llvm::StringLiteral missing =
    "(bitcode compiled with -sennit-polls has no checks yet: compile it with --config=sennit.cfg, or link it "
    "with "
    "-fuse-ld=lld -Wl,--load-pass-plugin=sennit_compiler.so)";

std::vector<option_for_link*>& options() {
  static std::vector<option_for_link*> all;
  return all;
}

// Refers to the missing symbol, by a variable that no pass may remove.
void refer_to_missing(llvm::Module& module) {
  auto* const type = llvm::Type::getInt8Ty(module.getContext());
  auto* const undefined =
      new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr, missing);
  auto* const reference = new llvm::GlobalVariable(
      module, undefined->getType(), true, llvm::GlobalValue::PrivateLinkage, undefined, "sennit.no_checks");
  llvm::appendToUsed(module, {reference});
}

}  // namespace

option_for_link::option_for_link(llvm::StringRef name) : flag_(name) {
  options().push_back(this);
}

bool gets_checks_at_link(const llvm::Function& function) {
  return function.hasFnAttribute(attribute);
}

// By the flags: a unit may have no function, or none any more.
bool gets_checks_at_link(const llvm::Module& module) {
  return llvm::any_of(options(),
                      [&](const option_for_link* each) { return module.getModuleFlag(each->flag()); });
}

void leave_for_later(llvm::Module& module) {
  bool any = false;
  for (llvm::Function& each : module)
    if (!each.isDeclaration()) {
      each.addFnAttr(attribute);
      any = true;
    }
  for (const option_for_link* each : options())
    module.addModuleFlag(llvm::Module::Error, each->flag(), each->value(module.getContext()));
  if (any)
    refer_to_missing(module);
}

bool has_prepared_loops(const llvm::Function& function) {
  return function.getFnAttribute(attribute).getValueAsString() == prepared;
}

void set_prepared_loops(llvm::Function& function) {
  function.addFnAttr(attribute, prepared);
}

bool no_longer_refer_to_missing(llvm::Module& module) {
  llvm::GlobalVariable* const undefined = module.getGlobalVariable(missing);
  if (undefined == nullptr)
    return false;
  llvm::SmallPtrSet<llvm::Constant*, 8> references;
  for (llvm::User* each : undefined->users())
    references.insert(llvm::cast<llvm::GlobalVariable>(each));
  llvm::removeFromUsedLists(module, [&](llvm::Constant* each) { return references.contains(each); });
  for (llvm::Constant* each : references)
    llvm::cast<llvm::GlobalVariable>(each)->eraseFromParent();
  undefined->eraseFromParent();
  return true;
}

void take_over_at_link(llvm::Module& module) {
  // Modules of a thin link are compiled on several threads.
  static std::mutex guard;
  static bool taken = false;
  const std::lock_guard locked(guard);
  bool any = false;
  for (option_for_link* each : options()) {
    llvm::Metadata* const value = module.getModuleFlag(each->flag());
    if (value == nullptr)
      continue;
    any = true;
    if (!taken)
      each->take(*value);
    else if (each->value(module.getContext()) != value)
      module.getContext().emitError("-" + each->flag() + " is not the same in all units of a link (" +
                                    module.getName() + ")");
  }
  taken |= any;
}

llvm::PreservedAnalyses begin_link::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  if (!gets_checks_at_link(module))
    return llvm::PreservedAnalyses::all();
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || gets_checks_at_link(function))
      continue;
    mark_as_no_yield(function);
    // What has checks would lose them there.
    for (llvm::Instruction& each : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&each))
        if (const llvm::Function* callee = call->getCalledFunction();
            callee != nullptr && gets_checks_at_link(*callee))
          call->addFnAttr(llvm::Attribute::NoInline);
  }
  keep_checks_from_early_functions(module);
  return llvm::PreservedAnalyses::none();
}

llvm::PreservedAnalyses warn_of_options::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  struct warning final : llvm::DiagnosticInfo {
    explicit warning(const option_for_link& what)
        : DiagnosticInfo(llvm::getNextAvailablePluginDiagnosticKind(), llvm::DS_Warning), option(what) {}
    void print(llvm::DiagnosticPrinter& out) const override {
      out << "-" << option.flag() << " does nothing without -sennit-polls";
    }
    const option_for_link& option;
  };
  for (const option_for_link* each : options())
    if (each->is_given())
      module.getContext().diagnose(warning(*each));
  return llvm::PreservedAnalyses::all();
}

}  // namespace sennit::compiler
