// LLVM's classes change with every version. Its loader compares only the version of its plugin structure,
// which does not change. A clang with another libLLVM would run with two: ours is loaded as a dependency, and
// gets the other's objects.
#include "refuse.hpp"

#include <dlfcn.h>
#include <link.h>
#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/FormatVariadic.h>

#include <mutex>
#include <string>
#include <string_view>

namespace sennit::compiler {

namespace {

[[noreturn]] void refuse(const char* its_file) {
  constexpr unsigned major = LLVM_VERSION_MAJOR, minor = LLVM_VERSION_MINOR;
  const std::string message = llvm::formatv(
      "sennit: this plugin is for LLVM {0}.{1}, and was loaded by a program with another one ({2}).\n"
      "sennit: compile with clang-{0} and link with lld-{0}, or build the plugin for that LLVM.",
      major, minor, its_file);
  // The plugin is misused, and LLVM does not crash: no request for a bug report.
  llvm::report_fatal_error(llvm::StringRef(message), false);
}

Dl_info object_of(const void* address) {
  Dl_info found{};
  if (dladdr(address, &found) == 0)
    found.dli_fname = "an unknown one";
  return found;
}

const void* ours() {
  return object_of(reinterpret_cast<const void*>(&LLVMGetVersion)).dli_fbase;
}

bool has_passes = false;

}  // namespace

// As a front-end plugin this library is only opened. The program that opens it has its libLLVM in memory.
// (Reporting the error uses our own libLLVM.)
void refuse_other_libraries() {
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void*) {
        const std::string_view name = object->dlpi_name;
        if (name.substr(name.rfind('/') + 1).starts_with("libLLVM") && object->dlpi_phnum != 0 &&
            object_of(reinterpret_cast<const void*>(object->dlpi_addr + object->dlpi_phdr[0].p_vaddr))
                    .dli_fbase != ours())
          refuse(object->dlpi_name);
        return 0;
      },
      nullptr);
}

void refuse_other_llvm(const void* caller) {
  unsigned major = 0;
  unsigned minor = 0;
  LLVMGetVersion(&major, &minor, nullptr);
  const Dl_info its = object_of(caller);
  if (its.dli_fbase != ours() || major != LLVM_VERSION_MAJOR || minor != LLVM_VERSION_MINOR)
    refuse(its.dli_fname);
}

void options_have_passes() {
  has_passes = true;
}

char refuse_options_without_passes::ID = 0;

bool refuse_options_without_passes::runOnMachineFunction(llvm::MachineFunction& function) {
  static std::once_flag looked;
  if (!has_passes)
    std::call_once(looked, [&] {
      for (const auto& [name, option] : llvm::cl::getRegisteredOptions())
        if (name.starts_with("sennit-") && option->getNumOccurrences() > 0)
          function.getFunction().getContext().emitError(
              "-" + name + " does nothing: -fpass-plugin=sennit_compiler.so is missing beside -fplugin");
    });
  return false;
}

}  // namespace sennit::compiler
