#define FRAME c_as_it_comes
#include "c_frames.inc"
