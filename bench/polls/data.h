// Bytes that compress, the same each time.
#pragma once
#include <stddef.h>
#include <stdint.h>

static inline void fill(unsigned char* data, size_t size) {
  static const char* const words[] = {"strand ", "rope ", "fiber ", "plaited ",
                                      "of ",     "the ",  "and\n",  "cordage "};
  uint32_t seed = 12345;
  size_t at = 0;
  while (at < size) {
    seed = seed * 1664525 + 1013904223;
    const char* word = words[seed >> 29];
    if ((seed >> 20 & 63) == 0)
      data[at++] = (unsigned char)(seed >> 8);
    while (*word != 0 && at < size)
      data[at++] = (unsigned char)*word++;
  }
}
