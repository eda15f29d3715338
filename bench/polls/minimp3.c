// Decodes a file; argv[1]: how often, argv[2]: the file. Prints what must be the same in every build.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MINIMP3_IMPLEMENTATION
#include <minimp3.h>

// The frame that was decoded last, for the player (beside.cpp).
extern const int16_t* volatile sennit_sound;
const int16_t* volatile sennit_sound;

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  FILE* file = fopen(argv[2], "rb");
  if (file == NULL)
    return 2;
  static uint8_t data[4 << 20];
  const size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  uint32_t sum = 0;
  long frames = 0;
  for (int round = atoi(argv[1]); round > 0; --round) {
    mp3dec_t decoder;
    mp3dec_init(&decoder);
    static mp3d_sample_t samples[MINIMP3_MAX_SAMPLES_PER_FRAME];
    for (size_t at = 0; at < size;) {
      mp3dec_frame_info_t info;
      const int count = mp3dec_decode_frame(&decoder, data + at, (int)(size - at), samples, &info);
      if (info.frame_bytes == 0)
        break;
      at += (size_t)info.frame_bytes;
      ++frames;
      sennit_sound = samples;
      for (int i = 0; i < count * info.channels; ++i)
        sum = sum * 31 + (uint16_t)samples[i];
    }
  }
  printf("minimp3 %ld %08x\n", frames, sum);
  return 0;
}
