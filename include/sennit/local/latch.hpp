// sennit::local::latch: what std::latch is, among the fibers of one thread; sennit/wait_group.hpp says what
// it has. room: sync
#pragma once

#include "sennit/local/wait_group.hpp"
