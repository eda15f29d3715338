#include "swapstack.hpp"

#include <llvm/ADT/Statistic.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/Local.h>

#include <cstdint>
#include <optional>
#include <string>

#include "swapstack_assembly.hpp"

#define DEBUG_TYPE "sennit-swapstack"

namespace sennit::compiler {

namespace {

using namespace llvm;

ALWAYS_ENABLED_STATISTIC(switches_expanded, "Number of new stacks and switches by the primitive");
ALWAYS_ENABLED_STATISTIC(switches_direct, "Number of switches that jump to a known function");

cl::opt<bool> direct(
    "sennit-swapstack-direct", cl::init(true), cl::Hidden,
    cl::desc("Enter new contexts of known functions by a direct jump; off: to compare with"));

constexpr StringLiteral root = "sennit_enter_root";
constexpr StringLiteral root8 = "sennit_enter_root8";

enum class verb : std::uint8_t { none, newstack, newstack8, swapstack, swapstack_raw };

verb verb_of(const Function& function) {
  const StringRef name = function.getName().ltrim('\1');
  const StringRef stem = name.substr(0, name.find('.', StringRef("sennit.").size()));
  if (stem == "sennit.newstack")
    return verb::newstack;
  if (stem == "sennit.newstack8")
    return verb::newstack8;
  if (stem == "sennit.swapstack")
    return verb::swapstack;
  if (stem == "sennit.swapstack_raw")
    return verb::swapstack_raw;
  return verb::none;
}

// ---- Signatures.

struct signature {
  ArrayRef<Type*> sent;
  StructType* received = nullptr;  // null: only the context
  bool in_memory = false;          // by sret
};

bool is_word(Type* type) {
  return type->isPointerTy() || type->isFloatTy() || type->isDoubleTy() ||
         (type->isIntegerTy() && type->getIntegerBitWidth() <= 64);
}

bool are_words(ArrayRef<Type*> types) {
  return types.size() <= most_words && all_of(types, is_word);
}

std::optional<signature> signature_of(const CallBase& call) {
  const FunctionType& type = *call.getFunctionType();
  signature found{type.params()};
  Type* result = type.getReturnType();
  if (!found.sent.empty() && call.paramHasAttr(0, Attribute::StructRet)) {
    if (!result->isVoidTy())
      return std::nullopt;
    found.in_memory = true;
    found.sent = found.sent.drop_front();
    result = call.getParamStructRetType(0);
  }
  found.received = dyn_cast<StructType>(result);
  if (found.received == nullptr
          ? !result->isPointerTy()
          : found.received->getNumElements() == 0 || !found.received->getElementType(0)->isPointerTy() ||
                !are_words(found.received->elements().drop_front()))
    return std::nullopt;
  if (type.isVarArg() || found.sent.empty() || !found.sent.front()->isPointerTy())
    return std::nullopt;
  found.sent = found.sent.drop_front();
  return are_words(found.sent) ? std::optional(found) : std::nullopt;
}

IntegerType* bits_of(Type* type) {
  return IntegerType::get(type->getContext(),
                          static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue()));
}

Value* as_word(IRBuilder<>& builder, Value* value) {
  Type* type = value->getType();
  if (type->isPointerTy())
    return builder.CreatePtrToInt(value, builder.getInt64Ty());
  if (type->isFloatingPointTy())
    value = builder.CreateBitCast(value, bits_of(type));
  return builder.CreateZExt(value, builder.getInt64Ty());
}

Value* from_word(IRBuilder<>& builder, Value* word, Type* type) {
  if (type->isPointerTy())
    return builder.CreateIntToPtr(word, type);
  return builder.CreateBitCast(builder.CreateTrunc(word, bits_of(type)), type);
}

// ---- The first step.

Value* part_of_record(IRBuilder<>& builder, Value* record, int offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), record, static_cast<std::uint64_t>(offset));
}

Value* expand_newstack(IRBuilder<>& builder, CallInst& call, StringRef first) {
  Module& module = *call.getModule();
  const switch_assembly& code = *switch_assembly_for(module);
  auto* enters = FunctionType::get(builder.getVoidTy(), false);
  Value* record = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), call.getArgOperand(0),
                                                     static_cast<std::uint64_t>(-code.record_size));
  const auto store = [&](Value* value, int offset) {
    builder.CreateAlignedStore(value, part_of_record(builder, record, offset), Align(8));
  };
  store(module.getOrInsertFunction(first, enters).getCallee(), 0);
  store(ConstantInt::get(builder.getInt64Ty(), 0), code.record_frame);
  store(call.getArgOperand(1), code.record_base);
  return record;
}

// What the first step leaves for the last: the target, its resume address, its rbx or entry function, words.
// The number of words that are received, four or eight, and that of those that are sent are in the name.
constexpr StringLiteral switching = "sennit.switching.";
constexpr StringLiteral switching_raw = "sennit.switching_raw.";

SmallVector<Type*, 2 + most_words> pointers_and_words(LLVMContext& context, unsigned pointers,
                                                      unsigned words) {
  SmallVector<Type*, 2 + most_words> types(pointers, PointerType::get(context, 0));
  types.append(words, Type::getInt64Ty(context));
  return types;
}

Value* expand_swapstack(IRBuilder<>& builder, CallInst& call, const signature& types, bool raw) {
  Type* pointer = builder.getPtrTy();
  const unsigned first = types.in_memory ? 1 : 0;
  const std::size_t received_words = types.received == nullptr ? 0 : types.received->getNumElements() - 1;
  const unsigned received_at_most =
      std::max(types.sent.size(), received_words) <= few_words ? few_words : most_words;
  Value* target = call.getArgOperand(first);
  SmallVector<Value*, 3 + most_words> arguments{target};
  for (const int offset : {0, switch_assembly_for(*call.getModule())->record_base})
    arguments.push_back(
        builder.CreateAlignedLoad(pointer, part_of_record(builder, target, offset), Align(8)));
  for (unsigned i = 0; i < types.sent.size(); ++i)
    arguments.push_back(as_word(builder, call.getArgOperand(first + 1 + i)));
  SmallVector<Type*, 3 + most_words> parameters;
  for (Value* each : arguments)
    parameters.push_back(each->getType());
  const std::string name =
      ((raw ? switching_raw : switching) + Twine(received_at_most) + "." + Twine(types.sent.size())).str();
  auto* result =
      StructType::get(call.getContext(), pointers_and_words(call.getContext(), 1, received_at_most));
  CallInst* made = builder.CreateCall(
      call.getModule()->getOrInsertFunction(name, FunctionType::get(result, parameters, false)), arguments);
  made->setDoesNotThrow();
  // Two that end two branches stay two: each is resumed where its branch goes on (swapstack_code.cpp).
  made->addFnAttr(Attribute::NoMerge);

  Value* from = builder.CreateExtractValue(made, 0);
  if (types.received == nullptr && !types.in_memory)
    return from;
  Value* received = PoisonValue::get(types.received);
  for (unsigned i = 0; i < types.received->getNumElements(); ++i) {
    Value* part =
        i == 0 ? from
               : from_word(builder, builder.CreateExtractValue(made, i), types.received->getElementType(i));
    if (types.in_memory)
      builder.CreateStore(part, builder.CreateStructGEP(types.received, call.getArgOperand(0), i));
    else
      received = builder.CreateInsertValue(received, part, i);
  }
  return types.in_memory ? nullptr : received;
}

std::string wrong_with(const CallBase& call, StringRef name, verb asked) {
  const Function& caller = *call.getFunction();
  const FunctionType& type = *call.getFunctionType();
  if (asked == verb::newstack || asked == verb::newstack8) {
    if (type.getNumParams() != 2 || type.isVarArg() || !type.getParamType(0)->isPointerTy() ||
        !type.getParamType(1)->isPointerTy() || !type.getReturnType()->isPointerTy())
      return (name + " wants a ptr (the stack's top) and a ptr (the entry function), and returns a ptr")
          .str();
    return {};
  }
  if (!signature_of(call))
    return (name +
            " wants a ptr (the context) and at most eight values, and returns a ptr or a struct of a ptr "
            "and at most eight; values are pointers, float, double or integers of at most 64 bits")
        .str();
  if (caller.hasFnAttribute(Attribute::SafeStack) || caller.hasFnAttribute(Attribute::ShadowCallStack))
    return (name + " does not switch SafeStack's or the shadow call stack's own stack").str();
  if (caller.getFnAttribute("target-features").getValueAsString().contains("+egpr"))
    return (name + " does not switch APX registers r16-r31").str();
  return {};
}

void expand(CallBase& given, StringRef name, verb asked) {
  const std::string wrong =
      switch_assembly_for(*given.getModule()) != nullptr
          ? wrong_with(given, name, asked)
          : "sennit.swapstack and sennit.newstack are for x86-64 and AArch64 (LP64, little-endian, ELF) only";
  // It does not throw.
  auto* invoke = dyn_cast<InvokeInst>(&given);
  auto* call = invoke != nullptr ? changeToCall(invoke) : cast<CallInst>(&given);
  Value* result = nullptr;
  if (!wrong.empty()) {
    call->getContext().emitError(wrong);
    if (!call->getType()->isVoidTy())
      result = PoisonValue::get(call->getType());
  } else {
    IRBuilder<> builder(call);
    ++switches_expanded;
    if (asked == verb::newstack || asked == verb::newstack8)
      result = expand_newstack(builder, *call, asked == verb::newstack ? root : root8);
    else
      result = expand_swapstack(builder, *call, *signature_of(*call), asked == verb::swapstack_raw);
  }
  if (result != nullptr)
    call->replaceAllUsesWith(result);
  call->eraseFromParent();
}

class expand_primitive : public PassInfoMixin<expand_primitive> {
public:
  static bool isRequired() { return true; }

  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    bool changed = false;
    for (Function& function : make_early_inc_range(module)) {
      const verb asked = verb_of(function);
      if (asked == verb::none)
        continue;
      changed = true;
      for (Use& use : make_early_inc_range(function.uses())) {
        auto* call = dyn_cast<CallBase>(use.getUser());
        if (call != nullptr && call->isCallee(&use) && (isa<CallInst>(call) || isa<InvokeInst>(call)))
          expand(*call, function.getName(), asked);
      }
      if (function.use_empty())
        function.eraseFromParent();
      else
        module.getContext().emitError(function.getName() + " can only be called");
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
};

// ---- The last step.

Function* known_function(Value* value) {
  auto* function = dyn_cast<Function>(value->stripPointerCasts());
  return function != nullptr && function->isDSOLocal() ? function : nullptr;
}

destination destination_of(const CallInst& call) {
  if (!direct || !switch_assembly_for(*call.getModule())->can_jump_to_known)
    return {};
  const auto* resume = dyn_cast<Function>(call.getArgOperand(1)->stripPointerCasts());
  if (resume != nullptr && resume->getName() == root)
    return {known_function(call.getArgOperand(2)), true};
  return {known_function(call.getArgOperand(1)), false};
}

void lower(CallInst& call, bool raw, FunctionAnalysisManager& analyses) {
  IRBuilder<> builder(&call);
  const destination to = destination_of(call);
  if (to.function != nullptr) {
    ++switches_direct;
    analyses.getResult<OptimizationRemarkEmitterAnalysis>(*call.getFunction()).emit([&] {
      return OptimizationRemark(DEBUG_TYPE, "Direct", &call)
             << "the switch jumps to " << ore::NV("Function", to.function);
    });
  }
  const unsigned sent = call.arg_size() - 3;
  const unsigned received = cast<StructType>(call.getType())->getNumElements() - 1;
  SmallVector<Value*, 2 + most_words> arguments{call.getArgOperand(0)};
  for (unsigned i = 0; i < sent; ++i)
    arguments.push_back(call.getArgOperand(3 + i));
  if (to.function != nullptr)
    arguments.push_back(to.function);
  SmallVector<Type*, 2 + most_words> parameters;
  for (Value* each : arguments)
    parameters.push_back(each->getType());
  const switch_assembly& assembly = *switch_assembly_for(*call.getModule());
  const auto* landings =
      mdconst::dyn_extract_or_null<ConstantInt>(call.getModule()->getModuleFlag(assembly.flag_of_landings));
  const bool marked = landings != nullptr && !landings->isZero();
  const unsigned results = 2 + received;
  auto* type = FunctionType::get(
      StructType::get(call.getContext(), pointers_and_words(call.getContext(), 2, received)), parameters,
      false);
  CallInst* code =
      builder.CreateCall(InlineAsm::get(type, assembly.text(raw, marked, to, results + 1 + sent),
                                        assembly.constraints(received, sent, to.function != nullptr), true),
                         arguments);
  code->setDoesNotThrow();
  code->setDebugLoc(call.getDebugLoc());
  Value* result = PoisonValue::get(call.getType());
  for (unsigned i = 0; i + 1 < results; ++i)
    result = builder.CreateInsertValue(result, builder.CreateExtractValue(code, i + 1), i);
  for (User* user : make_early_inc_range(call.users()))
    if (auto* part = dyn_cast<ExtractValueInst>(user)) {
      part->replaceAllUsesWith(builder.CreateExtractValue(code, part->getIndices()[0] + 1));
      part->eraseFromParent();
    }
  call.replaceAllUsesWith(result);
  Value* const loads[] = {call.getArgOperand(1), call.getArgOperand(2)};
  call.eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(result);
  for (Value* each : loads)
    RecursivelyDeleteTriviallyDeadInstructions(each);
}

class lower_primitive : public PassInfoMixin<lower_primitive> {
public:
  static bool isRequired() { return true; }

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    auto& functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    bool changed = false;
    for (Function& function : make_early_inc_range(module)) {
      const bool raw = function.getName().starts_with(switching_raw);
      if (!raw && !function.getName().starts_with(switching))
        continue;
      changed = true;
      for (User* user : make_early_inc_range(function.users()))
        lower(*cast<CallInst>(user), raw, functions);
      function.eraseFromParent();
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
};

}  // namespace

void add_swapstack(PassBuilder& builder) {
  builder.registerPipelineStartEPCallback(
      [](ModulePassManager& passes, OptimizationLevel) { passes.addPass(expand_primitive()); });
  builder.registerOptimizerLastEPCallback(
      [](ModulePassManager& passes, OptimizationLevel) { passes.addPass(lower_primitive()); });
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager& passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "sennit-swapstack")
          return false;
        passes.addPass(expand_primitive());
        passes.addPass(lower_primitive());
        return true;
      });
  add_swapstack_code();
}

}  // namespace sennit::compiler
