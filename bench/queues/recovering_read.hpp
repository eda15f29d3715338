// The paper's other way to read a node that may be freed already. The read is one instruction whose address
// is in a table. If it faults, the signal handler continues behind it, with a link that names no node, and
// the pop begins anew. Without a fault it costs nothing.
#pragma once

#if defined(__x86_64__)
#define BENCH_HAS_RECOVERING_READ 1

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "low_lock_queue.hpp"

// Made by the linker: the table of the section `bench_reads`. Both are relative to their own place.
struct bench_read {
  std::int32_t at;
  std::int32_t behind;
};
extern "C" const bench_read __start_bench_reads[];
extern "C" const bench_read __stop_bench_reads[];

namespace bench {

struct recovering_read {
  static BENCH_INLINE std::uint32_t link(const std::atomic<std::uint32_t>& next) {
    std::uint32_t read = 0;
    asm volatile(
        "1: movl %[next], %[read]\n"
        "2:\n"
        ".pushsection bench_reads, \"a\"\n"
        ".long 1b - ., 2b - .\n"
        ".popsection"
        : [read] "+r"(read)
        : [next] "m"(next)
        : "memory");
    return read;
  }

  /// Before the first read.
  static void install() {
    struct sigaction action = {};
    action.sa_sigaction = recover;
    action.sa_flags = SA_SIGINFO;
    require(sigaction(SIGSEGV, &action, nullptr) == 0, "no handler for SIGSEGV");
  }

private:
  static void recover(int, siginfo_t*, void* context) {
    greg_t& counter = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    for (const bench_read* read = __start_bench_reads; read != __stop_bench_reads; ++read)
      if (counter == address(read->at)) {
        counter = address(read->behind);
        return;
      }
    signal(SIGSEGV, SIG_DFL);  // another fault: it ends the program
  }
  static greg_t address(const std::int32_t& relative) {
    return reinterpret_cast<greg_t>(&relative) + relative;
  }
};

/// For the check: the page of each node is accessible only while the node is pushed, queued and popped.
class unmapping_queue : public low_lock_queue<recovering_read, 4096> {
public:
  explicit unmapping_queue(std::size_t count) : low_lock_queue(count) {
    nodes_[at(0)].next.store(at(0), std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i)
      protect(at(i), PROT_NONE);
    require(recovering_read::link(nodes_[at(0)].next) == 0, "a faulting read returned a link");
  }
  void push(handle own, std::uint64_t value) {
    protect(own, PROT_READ | PROT_WRITE);
    low_lock_queue::push(own, value);
  }
  handle pop(std::uint64_t& value) {
    const handle first = low_lock_queue::pop(value);
    if (first != 0)
      protect(first, PROT_NONE);
    return first;
  }

private:
  void protect(handle of, int protection) {
    require(mprotect(&nodes_[of], 4096, protection) == 0, "mprotect");
  }
};

}  // namespace bench

#endif
