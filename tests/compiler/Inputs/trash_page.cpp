// Beside trash.c, for checks that load from a page: that stays closed, so that each of them faults, and goes
// on by the runtime's own tables. Compiled without the plugin, linked with libsennit.
#include <signal.h>
#include <unistd.h>

#include "sennit/detail/fault/poll_page.hpp"

static void on_fault(int, siginfo_t* info, void* context) {
  if (!sennit::detail::poll_page_fault(info->si_addr, context))
    _exit(3);
}

// After the tables are known, which is at 100.
[[gnu::constructor(101)]] static void close_page() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  if (void* const page = sennit::detail::poll_page_of_thread(); page != nullptr)
    sennit::detail::poll_page_close(page);
}
