// The page that checks load from, with -sennit-polls-check=page:
//
//       .Lcheck: movl %fs:sennit_poll_page@tpoff, %eax      a register that is dead there
//                ...
//       .Lcold:  callq sennit_yield_xmm0                    as behind a branch
//                jmp .Lon
//       section sennit_polls: .long .Lcheck - ., .Lcold - .
//
// Each thread has a page of its own. Who wants a fiber to yield has its thread's page protected; the next
// check faults, and the handler of faults goes on at the check's cold code, by the table
// (src/fault/poll_page.cpp). A check so is one load, writes no flags, and needs no branch; a yield costs two
// system calls and a fault more.
#pragma once

#include <llvm/IR/Module.h>

namespace sennit::compiler {

// Defines the page, once in a program, and has each program and shared object tell the runtime of its table.
void add_poll_page(llvm::Module& module);

}  // namespace sennit::compiler
