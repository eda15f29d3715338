// Each request executed in a coroutine spawned for it: the experiment of "Making coroutines fast", with its
// two optimisations to be had one by one. Not how to write a server: the fiber front spawns one coroutine for
// a connection, and the library always has both.
//
//   pooled     A coroutine that has executed its request waits in a free list, whole: stack, context, run
//              loop. Else each request allocates them and gives them back.
//   swap       Switches by Sennit's switch; else by the C library's swapcontext, with its system call.
//
// Source: RethinkDB, "Making coroutines fast" ("Reusing coroutines", "A lightweight swapcontext
// implementation", "Things that weren't important": zeroed stacks, the stacks' size).
#pragma once

#include <cstddef>

#include "state.hpp"

namespace kv {

struct coroutine_settings {
  bool pooled = true;
  bool swap = true;
  std::size_t stack_size = std::size_t{64} << 10;  // from malloc, without a guard
  bool zeroed = false;                             // from calloc
};

// What server_state::run_request is to be for it. One server a process; several threads under its lock.
executor in_coroutines(const coroutine_settings& chosen);

}  // namespace kv
