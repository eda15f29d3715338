// What the C++ headers need of the compiler, beside the language: they throw and catch. The headers for C
// work without.
#pragma once

#include "sennit/detail/arch/cplusplus.hpp"

#if !defined(__cpp_exceptions)
#error "sennit: its C++ headers need exceptions: compile without -fno-exceptions, or use sennit/sennit.h"
#include <exceptions>  // there is no such file: compilers continue after an #error, but not after this
#endif
