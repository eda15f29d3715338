// Compresses and expands what it makes, at several levels; argv[1]: how often. Prints what must be the same
// in every build.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data.h"

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  static unsigned char data[1 << 17], packed[1 << 18], again[1 << 17];
  fill(data, sizeof data);
  unsigned long sum = 0;
  for (int round = 0; round < rounds; ++round)
    for (int level = 1; level <= 9; level += 4) {
      uLongf size = sizeof packed;
      uLongf back = sizeof again;
      if (compress2(packed, &size, data, sizeof data, level) != Z_OK ||
          uncompress(again, &back, packed, size) != Z_OK || memcmp(data, again, sizeof data) != 0)
        return 1;
      sum = sum * 31 + adler32(crc32(0, packed, (uInt)size), packed, (uInt)size);
    }
  printf("zlib %08lx\n", sum & 0xffffffff);
  return 0;
}
