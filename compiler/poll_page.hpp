// The page that checks load from, with -sennit-polls-check=page:
//
//       .Lcheck: movl %fs:sennit_poll_page@tpoff, %eax      a register that is dead there
//                ...
//       .Lcold:  callq sennit_yield_xmm0                    as behind a branch
//                jmp .Lon
//       section sennit_polls: .long .Lcheck - ., .Lcold - .
//
// Each thread has its own page. To make a fiber yield, the runtime protects its thread's page. The next check
// faults, and the fault handler continues at the check's cold code, which the table names
// (src/fault/poll_page.cpp). So a check is one load, writes no flags, and needs no branch. A yield costs two
// system calls and a fault more.
#pragma once

#include <llvm/IR/Module.h>

namespace sennit::compiler {

// Defines the page, once in a program. Each program and shared object registers its table with the runtime.
void add_poll_page(llvm::Module& module);

}  // namespace sennit::compiler
