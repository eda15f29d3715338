#define FRAME c_without_tables
#include "c_frames.inc"
