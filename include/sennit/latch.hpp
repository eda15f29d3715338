// sennit::latch: what std::latch is, for fibers and threads; sennit/wait_group.hpp says what it has.
// room: sync
#pragma once

#include "sennit/wait_group.hpp"
