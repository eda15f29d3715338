// The poll page: how the runtime asks a fiber to yield if its code was compiled with
// -sennit-polls-check=page.
//
// A check there is a load from a page of the thread. To request a yield, the runtime closes the page. The
// load faults, and the handler continues at the check's cold code. That calls sennit_forced_yield, which
// opens the page. Compiled code registers tables of its checks before main() and when a shared object is
// loaded (compiler/poll_page.hpp).
//
// Virtual machines stop their threads in this way, by the polling page of a safepoint. Theirs is one page for
// all threads, so threads that need not stop fault, too.
#pragma once

#include <cstdint>

// An entry of a table: how far from itself its check is, and from the other number the cold code.
struct sennit_poll_place {
  std::int32_t check;
  std::int32_t cold;
};

// Called by each program and shared object with checks, as it begins. Its page is the calling thread's, in
// static thread-local storage (model initial-exec). It ends the process with a message if there is no memory
// for the table, or if parts of the program have different pages.
extern "C" void sennit_add_poll_page(const sennit_poll_place* begin, const sennit_poll_place* end,
                                     void* page);

namespace sennit::inline v0_1::detail {

// The calling thread's. Null: no code of the process has such checks.
void* poll_page_of_thread() noexcept;

// Of any thread that has not ended. A load that begins after it was closed faults.
void poll_page_close(void* page) noexcept;
void poll_page_open(void* page) noexcept;

// Called by the handler of SIGSEGV. Returns whether a check caused the fault; then the check's cold code runs
// next. The page stays closed.
bool poll_page_fault(const void* address, void* ucontext) noexcept;

}  // namespace sennit::inline v0_1::detail
