// What the store holds, copied out; and what must hold of it whatever the clients do.
#pragma once

#include "model.hpp"
#include "store.hpp"

namespace kv::fuzz {

// Checks every value by the way. With `details` times to live and versions are asked for: each is a look-up,
// which moves a growing or shrinking table on.
keyspace copy_of(store& keys, bool details);

std::string printed(const keyspace& keys);

}  // namespace kv::fuzz
