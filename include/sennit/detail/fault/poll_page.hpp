// The poll page: how a fiber is asked to yield where its code was compiled with -sennit-polls-check=page.
//
// A check there is a load from a page of the thread. To ask, the page is closed; the load faults, and the
// handler has it go on at the check's cold code, which calls sennit_forced_yield: that opens the page. Which
// instructions are checks, compiled code says in tables, before main() and when a shared object is loaded
// (compiler/poll_page.hpp).
//
// Virtual machines stop their threads so, by what they call a safepoint's polling page; theirs is one for all
// threads, and who is not meant faults, too.
#pragma once

#include <cstdint>

// An entry of a table: how far from itself its check is, and from the other number the cold code.
struct sennit_poll_place {
  std::int32_t check;
  std::int32_t cold;
};

// By each program and shared object with checks, as it begins. Its page is the calling thread's; it is in
// static thread-local storage, as the model initial-exec has it. Without memory for the table, or when one
// part of the program has another page than the others, the process ends and says so.
extern "C" void sennit_add_poll_page(const sennit_poll_place* begin, const sennit_poll_place* end,
                                     void* page);

namespace sennit::detail {

// The calling thread's. Null: no code of the process has such checks.
void* poll_page_of_thread() noexcept;

// Of any thread that has not ended. A load that begins after it was closed faults.
void poll_page_close(void* page) noexcept;
void poll_page_open(void* page) noexcept;

// By the handler of SIGSEGV: whether a check did that, which goes on at its cold code then. The page stays
// closed.
bool poll_page_fault(const void* address, void* ucontext) noexcept;

}  // namespace sennit::detail
