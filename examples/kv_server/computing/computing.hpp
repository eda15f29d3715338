// What takes commands long, apart from all else: it sees no store, no client and no reply.
//
// Where the plugin for clang compiles it (docs/explanation/preemption.md), only the loops here have checks: a
// fiber that computes yields to others in the middle, and they may do to the store and to other sessions what
// they like. So nothing here, nor what it calls, may touch those. It must not share a function with code that
// does, not even a template's, of which the linker keeps one for all: each must be inlined, or have to do
// with a type of this unit. tests/preempted.py checks that. Compiled without the plugin it computes in
// portions.
#pragma once

#include <cstddef>
#include <string_view>

namespace kv {

// Whether this was compiled with checks.
extern const bool gives_way;

struct sortable {
  std::string_view text;  // a zero byte is behind it
  double number = 0;
};

struct sort_order {
  bool by_text = false;  // bytes, unsigned; else the numbers that the texts are
  bool descending = false;
};

// Finds the numbers, if they are wanted, and sorts. Equal numbers are in the order of their texts: the
// outcome is the same whatever it begins with.
class sort_job {
public:
  enum class outcome { unfinished, sorted, not_numbers };

  // Both have room for `size` elements.
  sort_job(sortable* items, sortable* spare, std::size_t size, sort_order wanted)
      : items_(items), spare_(spare), size_(size), wanted_(wanted) {}

  // All of it, where it has checks; else a portion, two merged runs at most.
  void run();
  // All of it, without giving way to other fibers.
  void run_at_once();

  outcome result() const { return result_; }
  std::size_t size() const { return size_; }
  const sortable* sorted() const { return items_; }  // one of the two

private:
  void run_portion();
  void merge_two();

  sortable *items_, *spare_;
  const std::size_t size_;
  const sort_order wanted_;
  outcome result_ = outcome::unfinished;
  std::size_t prepared_ = 0;  // those before it have numbers and are sorted in runs
  std::size_t width_ = 0;     // of the runs that are merged
  std::size_t merged_ = 0;    // of these runs, those before it
};

}  // namespace kv
