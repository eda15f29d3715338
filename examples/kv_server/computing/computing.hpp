// What takes commands long, apart from all else: it sees no store, no client and no reply.
//
// Here alone loops have checks, where the plugin for clang compiles it (docs/compiler.md): a fiber that
// computes gives way to others in the middle, and they may do to the store and to other sessions what they
// like. So nothing that is here, nor what it calls, may touch those; and it must share no function with what
// does, not even a template's, of which the linker keeps one for all: each must be inlined, or have to do
// with a type of this unit's own. tests/preempted.py looks at that.
#pragma once

#include <atomic>
#include <span>
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

enum class sort_result { sorted, not_numbers, stopped };

// Finds the numbers, if they are wanted, and sorts. Ends before that once `stop` is set, with the items in
// any order. Equal numbers are in the order of their texts: the outcome is the same whatever it begins with.
sort_result sort_items(std::span<sortable> items, sort_order wanted, const std::atomic<bool>& stop);

// For ever, in a loop that does nothing but to look whether it is to stop.
void spin(const std::atomic<bool>& stop);

}  // namespace kv
