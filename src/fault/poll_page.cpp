// The poll page: see include/sennit/detail/fault/poll_page.hpp.
#include "sennit/detail/fault/poll_page.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "sennit/detail/stack/stack.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// Copied: a shared object may be unloaded, and a later table with its addresses then precedes it in the list.
struct poll_table {
  struct place {
    std::uintptr_t check;
    std::uintptr_t cold;
  };

  const poll_table* next;
  std::size_t count;
  place* places;  // by their checks

  const place* find(std::uintptr_t check) const noexcept {
    const auto* const found =
        std::lower_bound(places, places + count, check,
                         [](const place& each, std::uintptr_t wanted) { return each.check < wanted; });
    return found != places + count && found->check == check ? found : nullptr;
  }
};

std::atomic<const poll_table*> tables{nullptr};

// Of each thread, at one distance from its page: both are there from its beginning on. 0: there is no page.
[[gnu::tls_model("initial-exec")]] constinit thread_local char anchor = 0;
std::atomic<std::ptrdiff_t> distance{0};

[[noreturn]] void end(const char* why) noexcept {
  std::fprintf(stderr, "sennit: checks by a poll page (-sennit-polls-check=page): %s\n", why);
  std::abort();
}

std::uintptr_t absolute(const std::int32_t& from) noexcept {
  return reinterpret_cast<std::uintptr_t>(&from) + static_cast<std::uintptr_t>(std::intptr_t{from});
}

}  // namespace

void* poll_page_of_thread() noexcept {
  const std::ptrdiff_t away = distance.load(std::memory_order_acquire);
  return away == 0 ? nullptr : &anchor + away;
}

void poll_page_close(void* page) noexcept {
  // It fails where the process may have no more mappings: then it is tried again in the next slice.
  ::mprotect(page, page_size, PROT_NONE);
}

void poll_page_open(void* page) noexcept {
  if (::mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0)
    end("the page cannot be opened again");
}

bool poll_page_fault([[maybe_unused]] const void* address, [[maybe_unused]] void* ucontext) noexcept {
#if defined(__x86_64__) && defined(__LP64__)
  if (address == nullptr || address != poll_page_of_thread())
    return false;
  auto& at = static_cast<ucontext_t*>(ucontext)->uc_mcontext.gregs[REG_RIP];
  for (const poll_table* each = tables.load(std::memory_order_acquire); each != nullptr; each = each->next)
    if (const poll_table::place* found = each->find(static_cast<std::uintptr_t>(at)); found != nullptr) {
      at = static_cast<greg_t>(found->cold);
      return true;
    }
#endif
  return false;
}

}  // namespace sennit::inline v0_1::detail

extern "C" void sennit_add_poll_page(const sennit_poll_place* begin, const sennit_poll_place* end,
                                     void* page) {
  using namespace sennit::detail;
  if (begin == end)
    return;
  const std::ptrdiff_t away = static_cast<char*>(page) - &anchor;
  std::ptrdiff_t known = 0;
  if (!distance.compare_exchange_strong(known, away, std::memory_order_acq_rel) && known != away)
    sennit::detail::end("a shared object and the program have a page each; link the program with -rdynamic");
  const auto count = static_cast<std::size_t>(end - begin);
  auto* const places = new (std::nothrow) poll_table::place[count];
  auto* const table = new (std::nothrow) poll_table{tables.load(std::memory_order_relaxed), count, places};
  if (places == nullptr || table == nullptr)
    sennit::detail::end("no memory for the table of its checks");
  std::transform(begin, end, places, [](const sennit_poll_place& each) {
    return poll_table::place{absolute(each.check), absolute(each.cold)};
  });
  std::sort(places, places + count,
            [](const auto& one, const auto& other) { return one.check < other.check; });
  while (!tables.compare_exchange_weak(const_cast<const poll_table*&>(table->next), table,
                                       std::memory_order_release, std::memory_order_relaxed)) {
  }
}
