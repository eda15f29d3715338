// A function that overflows the stack it runs on.
#pragma once

namespace support {

inline volatile int forever = 1;

// Its frames are smaller than a page, so that none steps over the guard.
[[gnu::noinline]] inline int descend(int depth) {
  volatile char frame[200];
  frame[depth % 200] = static_cast<char>(depth);
  return forever == 0 ? 0 : descend(depth + 1) + frame[depth % 200];
}

}  // namespace support
