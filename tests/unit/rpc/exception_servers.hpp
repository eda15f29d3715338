// For tests of exception servers, in both kinds of runtime: fibers that fault, and fibers that answer.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>

#include "sennit/exception_server.hpp"
#include "support/child.hpp"
#include "support/descend.hpp"
#include "support/faults.hpp"
#include "support/kind_in_child.hpp"
#include "support/kinds.hpp"

namespace sennit {

using support::closed_page;
using support::descend;
using support::forever;
using support::in_child;
using support::outcome;

template <class Kind>
class exception_servers : public kind_test<Kind> {
protected:
  void SetUp() override {
    if (!serves_faults)
      GTEST_SKIP() << "faults are not served in this build";
  }

  // A fiber that answers so many faults with the verdict of `decide`.
  template <class Decide>
  static typename Kind::fiber serve(typename Kind::exception_server& of, int count, Decide decide) {
    return Kind::spawn(
        [&of, count, decide] {
          for (int i = 0; i < count; ++i) {
            auto fault = of.receive();
            fault.reply(decide(fault));
          }
        },
        {.name = "server"});
  }
  static typename Kind::fiber answer(typename Kind::exception_server& of, int count, verdict with) {
    return serve(of, count, [with](auto&) { return with; });
  }
  // A fiber that is served.
  template <class Function>
  static typename Kind::fiber served(typename Kind::exception_server& by, Function function) {
    return Kind::spawn(
        [&by, function] {
          const typename Kind::exception_guard served(by);
          function();
        },
        {.name = "faulty"});
  }
  // The same in a child process.
  template <class Function>
  static outcome dies(Function function) {
    return support::run_in_child<Kind>(function);
  }
};

[[gnu::noinline]] inline void write_to(volatile int* at) {
  *at = 1;
}
inline volatile int* const nowhere = nullptr;

struct counts_its_end {
  int& ended;
  ~counts_its_end() { ++ended; }
};

#if defined(__x86_64__)
inline constexpr unsigned char traps_at_once[] = {0x0f, 0x0b};                   // ud2
inline constexpr unsigned char traps_with_a_frame[] = {0x6a, 0x00, 0x0f, 0x0b};  // push $0; ud2
// call *$function; ret
inline constexpr unsigned char calls_a_function[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0xc3};
inline constexpr std::size_t called_function_at = 2;
#elif defined(__aarch64__)
inline constexpr unsigned char traps_at_once[] = {0x00, 0x00, 0x00, 0x00};  // udf #0
// sub sp, sp, #16; udf #0
inline constexpr unsigned char traps_with_a_frame[] = {0xff, 0x43, 0x00, 0xd1, 0x00, 0x00, 0x00, 0x00};
// stp x29, x30, [sp, #-16]!; ldr x16, function; blr x16; ldp x29, x30, [sp], #16; ret; nop; function
inline constexpr unsigned char calls_a_function[] = {
    0xfd, 0x7b, 0xbf, 0xa9, 0xb0, 0x00, 0x00, 0x58, 0x00, 0x02, 0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8,
    0xc0, 0x03, 0x5f, 0xd6, 0x1f, 0x20, 0x03, 0xd5, 0,    0,    0,    0,    0,    0,    0,    0};
inline constexpr std::size_t called_function_at = 24;
#endif

// Machine code that no unwinder knows.
class code_without_tables {
public:
  template <std::size_t size>
  explicit code_without_tables(const unsigned char (&code)[size])
      : at_(::mmap(nullptr, detail::page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::memcpy(at_, code, size);
    __builtin___clear_cache(static_cast<char*>(at_), static_cast<char*>(at_) + size);
    EXPECT_EQ(::mprotect(at_, detail::page_size, PROT_READ | PROT_EXEC), 0);
  }
  ~code_without_tables() { ::munmap(at_, detail::page_size); }
  code_without_tables(const code_without_tables&) = delete;
  code_without_tables& operator=(const code_without_tables&) = delete;
  void operator()() const { reinterpret_cast<void (*)()>(at_)(); }

private:
  void* const at_;
};

}  // namespace sennit
