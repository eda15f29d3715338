// Reports of several compilers in one file.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/Twine.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>
#include <system_error>

namespace sennit::compiler {

// Appends `line` to `file` (-: stdout) in one write, so that concurrent compilers do not mix their lines.
// Reports a failed write once, as an error of the compilation.
inline void append_line(llvm::LLVMContext& context, llvm::StringRef file, llvm::StringRef line) {
  std::error_code failed;
  llvm::raw_fd_ostream out(file, failed, llvm::sys::fs::OF_Append);
  if (failed) {
    static std::once_flag said;
    std::call_once(said, [&] { context.emitError("cannot write " + file + ": " + failed.message()); });
    return;
  }
  out.SetBufferSize(line.size() + 1);
  out << line;
}

}  // namespace sennit::compiler
