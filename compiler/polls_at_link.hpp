// Checks in bitcode: code that is optimized at the link (-flto, thin or not), and code that -emit-llvm leaves
// to another compilation.
//
// Checks are machine code, so bitcode has none yet, and lld hands no options to plugins. So the optimizer
// leaves in each unit the data for code generation, in this process or in another: an attribute of each
// function that gets checks, and the options as module flags. All units of a link that get checks must have
// the same options. At a link the passes that change loops run after the link's own vectorization.
//
// Without the plugin such bitcode would become a program without checks. So the unit also refers to an
// undefined symbol whose name states the remedy. Code generation with the plugin loaded removes the reference
// at its beginning.
//
// Functions of units that were compiled without checks get none, as if they were separate objects. They count
// no locks, either: if they are inlined into code with checks, they are no-yield code (no_yield.hpp).
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Support/CommandLine.h>

#include <string>
#include <type_traits>
#include <utility>

namespace sennit::compiler {

// The optimizer's part.
void leave_for_later(llvm::Module& module);

// It, or some unit of the module, was compiled so.
bool gets_checks_at_link(const llvm::Function& function);
bool gets_checks_at_link(const llvm::Module& module);

// The first of the link's passes, before it inlines.
struct begin_link : llvm::PassInfoMixin<begin_link> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

// Reads the options. Once or more often.
void take_over_at_link(llvm::Module& module);

// Whether the passes that change loops have run: they run once, before -emit-llvm or at the link.
bool has_prepared_loops(const llvm::Function& function);
void set_prepared_loops(llvm::Function& function);

// When code generation begins. Returns whether it changed the module.
bool no_longer_refer_to_missing(llvm::Module& module);

// Warns of options that are given where nothing gets checks.
struct warn_of_options : llvm::PassInfoMixin<warn_of_options> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

class option_for_link {
public:
  explicit option_for_link(llvm::StringRef name);
  option_for_link(const option_for_link&) = delete;
  option_for_link& operator=(const option_for_link&) = delete;
  virtual ~option_for_link() = default;

  llvm::StringRef flag() const { return flag_; }
  virtual bool is_given() const = 0;
  virtual llvm::Metadata* value(llvm::LLVMContext& context) const = 0;
  virtual void take(llvm::Metadata& value) = 0;

private:
  std::string flag_;
};

// An option of a plugin's that holds at the link, too.
template <class Value>
class link_option : public llvm::cl::opt<Value>, public option_for_link {
  using option = llvm::cl::opt<Value>;

public:
  template <class... Modifiers>
  explicit link_option(llvm::StringRef name, Modifiers&&... modifiers)
      : option(name, std::forward<Modifiers>(modifiers)...), option_for_link(name) {}

  bool is_given() const override { return option::getNumOccurrences() > 0; }

  llvm::Metadata* value(llvm::LLVMContext& context) const override {
    if constexpr (std::is_same_v<Value, std::string>)
      return llvm::MDString::get(context, option::getValue());
    else
      return llvm::ConstantAsMetadata::get(
          llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<unsigned>(option::getValue())));
  }

  void take(llvm::Metadata& value) override {
    if constexpr (std::is_same_v<Value, std::string>)
      this->setValue(llvm::cast<llvm::MDString>(value).getString().str());
    else
      this->setValue(static_cast<Value>(llvm::mdconst::extract<llvm::ConstantInt>(&value)->getZExtValue()));
  }
};

}  // namespace sennit::compiler
