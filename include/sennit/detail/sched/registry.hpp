// Makes every descriptor and every worker of the process accessible to other threads, and, by a table, to a
// debugger (tools/gdb/sennit.py). The table serves programs without debug information, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

// Descriptors come in blocks, which are never given back. A descriptor's number, for diagnostics, is its
// place among all descriptors. It belongs to one fiber during its life, and later to another one.
//
// The kernel provides a block's memory. Descriptors that were never used are zero, like unused ones, and take
// no memory. A block has as many descriptors as all older ones together. So there are few blocks, and a
// million descriptors cost 128 bytes each and hardly anything else. A search for a runtime's fibers skips the
// parts in which no descriptor is taken. So a process that once had a million fibers does not search all of
// them at the end of each runtime.
struct fiber_block {
  static constexpr std::size_t least = 2048;
  static constexpr std::size_t part = 1024;  // descriptors
  fiber* fibers;
  std::size_t size;
  std::size_t first;  // the number of descriptors in older blocks
  fiber_block* older;
  std::uint16_t* taken;   // for each part, how many descriptors belong to a worker
  std::size_t begun = 0;  // how many were ever used: a prefix

  // Returns the used prefix of the block. Requires descriptors_lock().
  std::span<fiber> used() noexcept { return {fibers, begun}; }
};

// Makes a worker findable while this lives. The whole worker exists during that time.
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

// While it is held, no worker comes or goes.
std::mutex& registry_lock() noexcept;
// While it is held, no block of descriptors comes. Lock it after registry_lock().
std::mutex& descriptors_lock() noexcept;

}  // namespace sennit::detail

extern "C" {

// In the order that sennit.py reads; all words have 8 bytes. With a change here, also change the magic's last
// digit.
struct sennit_debug_table {
  char magic[8];
  sennit::detail::fiber_block* blocks;  // the newest
  sennit::detail::registration* workers;
  std::uint64_t record;  // 1: contexts are as drawn in arch/x86_64.h; 0: otherwise
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
