// sennit::latch: like std::latch, for fibers and threads. Its members are those of sennit::wait_group.
// room: sync
#pragma once

#include "sennit/wait_group.hpp"
