// sennit::local::latch: std::latch among the fibers of one thread; see sennit/wait_group.hpp.
// room: sync
#pragma once

#include "sennit/local/wait_group.hpp"
