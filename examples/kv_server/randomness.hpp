// Where the server's randomness comes from: one place, so that fuzzing can put a repeatable one there
// (fuzz/randomness.cpp).
#pragma once

#include <cstddef>

#include "siphash.hpp"

namespace kv {

// Unknown to all clients.
siphash_key random_hash_key();

// From 0 to before `limit`, which is not 0. For answers that are to differ, not for secrets.
std::size_t random_below(std::size_t limit);

}  // namespace kv
