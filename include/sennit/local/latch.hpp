// sennit::local::latch: like std::latch, for the fibers of one local runtime. Its members are those of
// sennit::local::wait_group.
// room: sync
#pragma once

#include "sennit/local/wait_group.hpp"
