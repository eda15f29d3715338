// Reports of several compilers in one file.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/Twine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <system_error>

namespace sennit::compiler {

// Writes `line` behind what `file` has (-: stdout), in one write, so that compilers that run side by side do
// not mix their lines. Ends the compiler where it cannot.
inline void append_line(llvm::StringRef file, llvm::StringRef line) {
  std::error_code failed;
  llvm::raw_fd_ostream out(file, failed, llvm::sys::fs::OF_Append);
  if (failed)
    llvm::report_fatal_error(llvm::Twine("sennit: cannot write ") + file + ": " + failed.message(), false);
  out.SetBufferSize(line.size() + 1);
  out << line;
}

}  // namespace sennit::compiler
