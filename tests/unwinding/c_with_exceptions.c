#define FRAME c_with_exceptions
#include "c_frames.inc"
