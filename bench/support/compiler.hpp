// Which compiler built this program, for the peers that are a compiler's work.
#pragma once

#if defined(__clang__)
#define BENCH_COMPILER "clang"
#define BENCH_COMPILER_VERSION "clang " __clang_version__
#else
#define BENCH_COMPILER "gcc"
#define BENCH_COMPILER_VERSION "gcc " __VERSION__
#endif
