// What is to be found from outside of the threads that use it: every descriptor and every worker of the
// process, and the table by which a debugger finds them (tools/gdb/sennit.py), in a program without debug
// information too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

// Descriptors come in blocks, which are never given back. A descriptor's number, for people, is its place
// among all: the fiber's as long as it lives, another one's later.
//
// A block's descriptors are memory of their own from the kernel: those that were never used are zero, as if
// unused, and take no memory. A block has as many as all older ones together, so that there are few blocks,
// and a million descriptors cost 128 bytes each and hardly anything beside. Who looks for a runtime's fibers
// leaves out the parts of which nobody has any: a process that once had a million does not look through them
// at the end of each runtime.
struct fiber_block {
  static constexpr std::size_t least = 2048;
  static constexpr std::size_t part = 1024;  // descriptors
  fiber* fibers;
  std::size_t size;
  std::size_t first;  // how many the older ones have
  fiber_block* older;
  std::uint16_t* taken;   // how many of each part are some worker's
  std::size_t begun = 0;  // how many were ever used: the first

  // Those. With descriptors_lock() held.
  std::span<fiber> used() noexcept { return {fibers, begun}; }
};

// A worker that can be found, as long as this lives: nothing of the worker is gone or yet to come then.
class registration {
public:
  explicit registration(sennit_worker& of) noexcept;
  ~registration();
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;

  sennit_worker* const worker;
  registration* older = nullptr;
  registration* newer = nullptr;
};

// Who holds it keeps workers from coming and going.
std::mutex& registry_lock() noexcept;
// The same of blocks of descriptors. After the other.
std::mutex& descriptors_lock() noexcept;

}  // namespace sennit::detail

extern "C" {

// In the order that sennit.py reads, all words of 8 bytes. Who changes it changes the magic's last digit too.
struct sennit_debug_table {
  char magic[8];
  sennit::detail::fiber_block* blocks;  // the newest
  sennit::detail::registration* workers;
  std::uint64_t record;  // 1: contexts are as arch/x86_64.h draws them; 0: otherwise
  std::uint64_t block_fibers, block_begun, block_first, block_older, fiber_size;
  std::uint64_t registration_worker, registration_older;
  std::uint64_t fiber_context, fiber_home, fiber_id, fiber_reason, fiber_frame, fiber_object, fiber_name;
  std::uint64_t fiber_status, status_parked, status_joining, status_finished;
  std::uint64_t site_reason;
  std::uint64_t frame_context, frame_memory_low, frame_memory_size;
  std::uint64_t worker_current, worker_shared, worker_thread, worker_index;
  std::uint64_t fiber_stackless, code_run;
  std::uint64_t fiber_since, worker_now, site_object, code_object_at, fiber_room, far_size;
};
extern sennit_debug_table sennit_debug;
}
