#include "poll_page.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "no_yield.hpp"
#include "poll_code.hpp"

namespace sennit::compiler {

namespace {

using llvm::GlobalValue;
using llvm::GlobalVariable;

constexpr std::uint64_t page_size = 4096;

GlobalVariable& page_of(llvm::Module& module) {
  auto* const type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), page_size);
  auto* const page =
      new GlobalVariable(module, type, false, GlobalValue::WeakAnyLinkage, llvm::Constant::getNullValue(type),
                         poll_page, nullptr, GlobalValue::InitialExecTLSModel);
  page->setAlignment(llvm::Align(page_size));
  page->setComdat(module.getOrInsertComdat(poll_page));
  llvm::appendToCompilerUsed(module, {page});
  return *page;
}

// Of the linker's making; null where no check is left.
GlobalVariable& table_edge(llvm::Module& module, llvm::StringRef name) {
  auto* const edge = new GlobalVariable(module, llvm::Type::getInt8Ty(module.getContext()), true,
                                        GlobalValue::ExternalWeakLinkage, nullptr, name);
  edge->setVisibility(GlobalValue::HiddenVisibility);
  return *edge;
}

}  // namespace

void add_poll_page(llvm::Module& module) {
  constexpr const char* name = "sennit_register_poll_page";
  if (module.getNamedValue(poll_page) != nullptr)
    return;
  llvm::LLVMContext& context = module.getContext();
  GlobalVariable& page = page_of(module);
  auto* const nothing = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto* const register_page = llvm::Function::Create(nothing, GlobalValue::LinkOnceODRLinkage, name, module);
  register_page->setVisibility(GlobalValue::HiddenVisibility);
  register_page->setComdat(module.getOrInsertComdat(name));
  register_page->setDoesNotThrow();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", register_page));
  auto* const pointer = builder.getPtrTy();
  builder.CreateCall(
      module.getOrInsertFunction("sennit_add_poll_page", builder.getVoidTy(), pointer, pointer, pointer),
      {&table_edge(module, "__start_sennit_polls"), &table_edge(module, "__stop_sennit_polls"),
       builder.CreateThreadLocalAddress(&page)});
  builder.CreateRetVoid();
  mark_as_no_yield(*register_page);
  // Before the program's own, which may begin a runtime.
  constexpr int early = 100;
  llvm::appendToGlobalCtors(module, register_page, early, register_page);
}

}  // namespace sennit::compiler
