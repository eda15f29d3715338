// For tests of faults: memory that may not be touched, and hooks.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <utility>

#include "sennit/detail/fault/hook.hpp"
#include "sennit/generator.hpp"
#include "support/child.hpp"

// A test that has faults served, in its own process: processes that have never had our handler are left to
// others.
#define FAULT_TEST(suite, name)                                                  \
  static void suite##_##name();                                                  \
  TEST(suite, name) {                                                            \
    if (!sennit::detail::fault_redirects)                                        \
      GTEST_SKIP() << "faults are not redirected in this build";                 \
    const support::outcome result = support::in_child([] { suite##_##name(); }); \
    EXPECT_TRUE(result.exited(0)) << result;                                     \
  }                                                                              \
  static void suite##_##name()

namespace support {

using sennit::detail::fault_answer;
using sennit::detail::fault_hook;
using sennit::detail::fault_kind;
using sennit::detail::fault_site;
using sennit::detail::page_size;

// A page that may not be touched, until it is opened.
class closed_page {
public:
  closed_page() {
    at_ = static_cast<int*>(::mmap(nullptr, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (at_ == MAP_FAILED)
      std::abort();
  }
  ~closed_page() { ::munmap(at_, page_size); }
  closed_page(const closed_page&) = delete;
  closed_page& operator=(const closed_page&) = delete;
  volatile int* at() const { return at_; }
  void open() const { EXPECT_EQ(::mprotect(at_, page_size, PROT_READ | PROT_WRITE), 0); }
  void close() const { EXPECT_EQ(::mprotect(at_, page_size, PROT_NONE), 0); }

private:
  int* at_;
};

// A hook for what runs in a generator's body.
struct test_hook : fault_hook {
  using action = std::function<fault_answer(const fault_site&)>;
  explicit test_hook(action what) : fault_hook{wants_it, serves_it}, does(std::move(what)) {}
  static bool wants_it(const fault_hook& self, fault_site&) noexcept {
    ++static_cast<const test_hook&>(self).asked;
    return static_cast<const test_hook&>(self).wanted;
  }
  static fault_answer serves_it(const fault_hook& self, const fault_site& site) {
    auto& mine = static_cast<const test_hook&>(self);
    ++mine.served;
    mine.kind = site.kind;
    mine.address = site.address;
    mine.emergency = site.emergency;
    return mine.does(site);
  }
  action does;
  bool wanted = true;
  mutable int asked = 0;
  mutable int served = 0;
  mutable fault_kind kind{};
  mutable void* address = nullptr;
  mutable bool emergency = false;
};

// Has the stack that the caller runs on, which is one of ours, served by a hook.
class hooked {
public:
  explicit hooked(const fault_hook& hook) {
    record_ = sennit::detail::stack_find(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))).record;
    record_->hook = &hook;
  }
  ~hooked() {
    record_->hook = nullptr;
    sennit::detail::fault_give_emergency(*record_);
  }
  hooked(const hooked&) = delete;
  hooked& operator=(const hooked&) = delete;

private:
  sennit::detail::stack_record* record_;
};

// Calls a function on a stack of ours, with a hook.
template <class Function>
void run_hooked(const fault_hook& hook, Function function) {
  sennit::generator<int> body([&](auto& yield) {
    const hooked guard(hook);
    function(yield);
    yield(1);
  });
  for (int each : body)
    static_cast<void>(each);
}

}  // namespace support
