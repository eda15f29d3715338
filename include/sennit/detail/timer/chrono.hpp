// Durations, time points and clocks. Of libstdc++ only the part of <chrono> that its own <mutex> includes:
// the rest, which is calendars and text, takes a quarter of the time in which mutex.hpp compiles.
#pragma once

#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
