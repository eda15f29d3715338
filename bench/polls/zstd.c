// Compresses and expands what it makes, at several levels; argv[1]: how often. Prints what must be the same
// in every build.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "data.h"

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  static unsigned char data[1 << 17], packed[1 << 18], again[1 << 17];
  fill(data, sizeof data);
  uint32_t sum = 0;
  for (int round = 0; round < rounds; ++round)
    for (int level = 1; level <= 13; level += 3) {
      const size_t size = ZSTD_compress(packed, sizeof packed, data, sizeof data, level);
      if (ZSTD_isError(size) || ZSTD_decompress(again, sizeof again, packed, size) != sizeof data ||
          memcmp(data, again, sizeof data) != 0)
        return 1;
      for (size_t i = 0; i < size; ++i)
        sum = sum * 31 + packed[i];
    }
  printf("zstd %08x\n", sum);
  return 0;
}
