// Makes every descriptor and every worker of the process accessible to other threads, and, by a table, to a
// debugger (tools/gdb/sennit.py). The table serves programs without debug information, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/sched/registration.hpp"

namespace sennit::inline v0_1::detail {

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

// While it is held, no worker comes or goes.
std::mutex& registry_lock() noexcept;
// While it is held, no block of descriptors comes. Lock it after registry_lock().
std::mutex& descriptors_lock() noexcept;

}  // namespace sennit::inline v0_1::detail

extern "C" {

// An offset, a size, or a constant of what a debugger reads, by its name. No pointers, so that it is the same
// in a program that was not started yet.
struct sennit_debug_word {
  char name[24];
  std::uint64_t value;
};

// A script reads the words by their names: a new one needs no new version. The magic's last digit changes
// with this struct, or when a word gets another meaning.
struct sennit_debug_table {
  char magic[8];
  sennit::detail::fiber_block* blocks;  // the newest
  sennit::detail::registration* workers;
  std::atomic<std::uint64_t> ids_given;  // the last fiber id
  std::uint64_t count;                   // of words
  sennit_debug_word words[44];
};
extern sennit_debug_table sennit_debug;
}
