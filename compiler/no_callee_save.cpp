#include "no_callee_save.hpp"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/Statistic.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/TargetParser/Triple.h>

#include "asm_marks.hpp"
#include "for_link.hpp"

#define DEBUG_TYPE "sennit-no-callee-save"

namespace sennit::compiler {

namespace {

using namespace llvm;

ALWAYS_ENABLED_STATISTIC(functions_marked, "Number of functions that save no registers for their callers");
ALWAYS_ENABLED_STATISTIC(functions_never_left,
                         "Number of functions that save no registers because they are never left");

cl::opt<bool> asked_for("sennit-no-callee-save",
                        cl::desc("No callee-saved registers in functions that switch (Sennit)"));

// A function that the option was given for. In an LTO build only the link step may mark: what is inlined
// there may bring a caller a base pointer. lld takes no options of plugins, so the compile step leaves this.
constexpr StringLiteral attribute = "sennit-no-callee-save";

// The reasons not to mark a function. Tests can disable each, to show its effect.
enum class guard : std::uint8_t {
  base_pointer,
  varargs,
  by_value,
  words,
  special,
  naked,
  linkage,
  address,
  type,
  musttail
};
cl::bits<guard> left_out(
    "sennit-no-callee-save-without", cl::Hidden, cl::CommaSeparated,
    cl::desc("Without these guards: what is compiled so is wrong"),
    cl::values(clEnumValN(guard::base_pointer, "base-pointer", "callers that may have a base pointer"),
               clEnumValN(guard::varargs, "varargs", "variable arguments"),
               clEnumValN(guard::by_value, "by-value", "objects passed by value, on the stack"),
               clEnumValN(guard::words, "words",
                          "more arguments than registers that a prologue leaves alone"),
               clEnumValN(guard::special, "special", "nest, swiftself, swifterror, swiftasync"),
               clEnumValN(guard::naked, "naked", "naked functions"),
               clEnumValN(guard::linkage, "linkage", "functions that other units see"),
               clEnumValN(guard::address, "address", "functions whose address is taken"),
               clEnumValN(guard::type, "type", "calls by another type or convention"),
               clEnumValN(guard::musttail, "musttail", "either end of a musttail call")));

bool holds(guard which) {
  return !left_out.isSet(which);
}

using function_set = SmallSetVector<Function*, 32>;

// The convention exists only on these two targets.
bool has_convention(const Triple& target) {
  return target.isOSBinFormatELF() &&
         (target.getArch() == Triple::aarch64 || (target.getArch() == Triple::x86_64 && !target.isX32()));
}

bool moves_stack_pointer(const Instruction& instruction) {
  if (const auto* alloca = dyn_cast<AllocaInst>(&instruction))
    return !alloca->isStaticAlloca();
  const auto* call = dyn_cast<CallBase>(&instruction);
  if (call == nullptr)
    return false;
  if (const auto* code = dyn_cast<InlineAsm>(call->getCalledOperand())) {
    const StringRef names = code->getConstraintString();
    return names.contains("{rsp}") || names.contains("{esp}") || names.contains("{sp}") ||
           names.contains("{wsp}");
  }
  return call->getIntrinsicID() == Intrinsic::eh_return_i64 ||
         call->getIntrinsicID() == Intrinsic::eh_unwind_init;
}

// The function may address its frame by a base pointer, rbx or x19. The convention does not keep that, which
// LLVM 19 ignores: as a caller, it continues with the callee's. Whether there will be a base pointer is
// decided after register allocation (a spilled vector is an over-aligned local, too); without dynamic objects
// there is none. Sanitizers make local variables dynamic after us.
bool may_have_base_pointer(Function& function) {
  return function.hasFnAttribute(Attribute::SanitizeAddress) ||
         function.hasFnAttribute(Attribute::SanitizeHWAddress) ||
         function.hasFnAttribute(Attribute::SanitizeMemTag) ||
         any_of(instructions(function), moves_stack_pointer);
}

bool may_call_marked(Function& function) {
  return !function.hasOptNone() && !(holds(guard::base_pointer) && may_have_base_pointer(function));
}

// The convention assigns registers before it looks at special parameters. Its last two, from the eleventh
// word on, are those that a prologue uses to probe a big frame.
bool has_plain_parameters(const Function& function) {
  constexpr std::uint64_t safe_words = 10;
  std::uint64_t words = 0;
  for (const Argument& each : function.args()) {
    if (holds(guard::by_value) && each.hasPassPointeeByValueCopyAttr())
      return false;
    if (holds(guard::special) &&
        (each.hasNestAttr() || each.hasSwiftErrorAttr() || each.hasAttribute(Attribute::SwiftSelf) ||
         each.hasAttribute(Attribute::SwiftAsync)))
      return false;
    words += divideCeil(function.getDataLayout().getTypeSizeInBits(each.getType()).getKnownMinValue(), 64);
  }
  return words <= safe_words || !holds(guard::words);
}

bool is_musttail(const Instruction& instruction) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  return call != nullptr && call->isMustTailCall();
}

// A known function calls it, by its own convention and type.
bool is_call_in_sight(const Use& use, const SmallPtrSetImpl<Function*>& callers) {
  const auto* call = dyn_cast<CallBase>(use.getUser());
  if (call == nullptr || !call->isCallee(&use))
    return !holds(guard::address);
  const auto* called = cast<Function>(use.get());
  return (!holds(guard::musttail) || !call->isMustTailCall()) &&
         (!holds(guard::type) || (call->getFunctionType() == called->getFunctionType() &&
                                  call->getCallingConv() == called->getCallingConv())) &&
         callers.contains(call->getFunction());
}

bool may_be_marked(Function& function, const SmallPtrSetImpl<Function*>& callers) {
  const CallingConv::ID convention = function.getCallingConv();
  return (function.hasLocalLinkage() || !holds(guard::linkage)) && callers.contains(&function) &&
         (convention == CallingConv::C || convention == CallingConv::Fast) &&
         (!function.isVarArg() || !holds(guard::varargs)) &&
         (!function.hasFnAttribute(Attribute::Naked) || !holds(guard::naked)) &&
         !function.hasFnAttribute("no_caller_saved_registers") &&
         !function.hasFnAttribute("no_callee_saved_registers") && has_plain_parameters(function) &&
         (!holds(guard::musttail) || none_of(instructions(function), is_musttail)) &&
         all_of(function.uses(), [&](const Use& use) { return is_call_in_sight(use, callers); });
}

bool is_marked_call(const Instruction& instruction, const function_set& marked) {
  const auto* call = dyn_cast<CallBase>(&instruction);
  return call != nullptr && call->getCalledFunction() != nullptr &&
         marked.contains(call->getCalledFunction());
}

// Each way to a return leads through a marked call; a way that ends elsewhere (in a throw) does not count.
bool always_calls_marked(Function& function, const function_set& marked) {
  if (none_of(instructions(function), [&](const Instruction& each) { return is_marked_call(each, marked); }))
    return false;
  SmallSetVector<BasicBlock*, 32> reached;
  reached.insert(&function.getEntryBlock());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    BasicBlock& block = *reached[i];
    if (any_of(block, [&](const Instruction& each) { return is_marked_call(each, marked); }))
      continue;
    if (isa<ReturnInst>(block.getTerminator()))
      return false;
    for (BasicBlock* next : successors(&block))
      reached.insert(next);
  }
  return true;
}

function_set functions_to_mark(Module& module, bool each_was_asked_for) {
  SmallPtrSet<Function*, 32> callers;
  for (Function& each : module)
    if (!each.isDeclaration() && may_call_marked(each))
      callers.insert(&each);

  function_set marked;
  SmallVector<Function*, 32> others;
  for (Function& each : module) {
    if (!(each_was_asked_for || each.hasFnAttribute(attribute)) || !may_be_marked(each, callers))
      continue;
    if (any_of(instructions(each), [](const Instruction& i) { return is_switch(i); }))
      marked.insert(&each);
    else
      others.push_back(&each);
  }
  for (bool changed = !marked.empty(); changed;) {
    changed = false;
    for (Function* each : others)
      if (!marked.contains(each) && always_calls_marked(*each, marked))
        changed |= marked.insert(each);
  }
  return marked;
}

// The function switches, or calls a function that does, and is never left: it never returns to a caller that
// needs its registers (section 7.5). Its callers do not matter.
bool is_never_left(Function& function, const function_set& marked) {
  return function.doesNotThrow() && !function.hasFnAttribute(Attribute::Naked) && may_call_marked(function) &&
         any_of(instructions(function),
                [&](const Instruction& each) { return is_switch(each) || is_marked_call(each, marked); }) &&
         none_of(function,
                 [](const BasicBlock& block) { return isa<ReturnInst, ResumeInst>(block.getTerminator()); });
}

void remark(Function& function, FunctionAnalysisManager& analyses) {
  analyses.getResult<OptimizationRemarkEmitterAnalysis>(function).emit([&] {
    return OptimizationRemark(DEBUG_TYPE, "NoCalleeSave", &function) << "saves no registers for its callers";
  });
}

void mark(Function& function) {
  function.setCallingConv(CallingConv::PreserveNone);
  for (const Use& use : function.uses())
    if (auto* call = dyn_cast<CallBase>(use.getUser()); call != nullptr && call->isCallee(&use))
      call->setCallingConv(CallingConv::PreserveNone);
}

class no_callee_save : public PassInfoMixin<no_callee_save> {
public:
  explicit no_callee_save(bool asked) : asked_for(asked) {}

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    const bool at_link = any_of(module, [](Function& each) { return each.hasFnAttribute(attribute); });
    if (!(at_link || asked_for) || !has_convention(Triple(module.getTargetTriple())))
      return PreservedAnalyses::all();
    if (!at_link && is_for_link(module)) {
      for (Function& each : module)
        if (!each.isDeclaration())
          each.addFnAttr(attribute);
      return PreservedAnalyses::none();
    }
    const function_set marked = functions_to_mark(module, !at_link);
    auto& functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    bool changed = !marked.empty();
    if (Triple(module.getTargetTriple()).getArch() == Triple::x86_64)
      for (Function& each : module)
        if (!marked.contains(&each) && (!at_link || each.hasFnAttribute(attribute)) &&
            is_never_left(each, marked)) {
          each.addFnAttr("no_callee_saved_registers");
          ++functions_never_left;
          remark(each, functions);
          changed = true;
        }
    for (Function* each : marked) {
      mark(*each);
      ++functions_marked;
      remark(*each, functions);
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

private:
  bool asked_for;
};

}  // namespace

void add_no_callee_save(PassBuilder& builder) {
  const auto add = [](ModulePassManager& passes, OptimizationLevel) {
    passes.addPass(no_callee_save(asked_for));
  };
  builder.registerOptimizerLastEPCallback(add);
  builder.registerFullLinkTimeOptimizationLastEPCallback(add);
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager& passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "sennit-no-callee-save")
          return false;
        passes.addPass(no_callee_save(true));
        return true;
      });
}

}  // namespace sennit::compiler
