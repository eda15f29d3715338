// Many values alive around marked calls, of all kinds and in loops, to many depths: the same sums as without
// a switch. Every switch leaves garbage in all registers that it may.
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -mllvm -verify-machineinstrs -O1 %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -mllvm -verify-machineinstrs -O2 %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O2 -fno-omit-frame-pointer -fstack-clash-protection -fcf-protection %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O3 -march=native -fPIC %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -Os -fstack-protector-all %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -flto -O2 -fuse-ld=lld -Wl,--load-pass-plugin=%plugin %s -o %t %library && %t
// RUN: %make_aarch64_switch %t.switch.o
// RUN: %sennit_clangxx --target=aarch64-linux-gnu -static -mllvm -sennit-no-callee-save -O2 %s %t.switch.o -o %t.aarch64
// RUN: qemu-aarch64 %t.aarch64
#include <cstdint>
#include <cstdio>

#include "Inputs/partner.h"

namespace {

using word = std::uint64_t;

struct with_switches {
  static inline word through(word value) { return static_cast<word>(ask(static_cast<long>(value))); }
};
struct without {
  static inline word through(word value) { return value; }
};

struct pair {
  word first;
  double second;
};

inline word mix(word a, word b) {
  return (a ^ (b + 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd + (a >> 29);
}

// Each has another shape of frame, argument list and loop, by its depth.
template <class How, int depth>
NOINLINE pair node(word a, word b, double x, int c, word d, const pair& e, word f, word g) {
  if constexpr (depth == 0) {
    return {How::through(mix(a, b) + d + f), x + c + e.second + static_cast<double>(g & 255)};
  } else {
    word live[12];
    for (word i = 0; i < 12; ++i)
      live[i] = mix(a + i, b ^ (d * i));
    double moving[5] = {x, x + 1, x * 0.5, x - c, e.second};
    word sum = f;
    const int rounds = 1 + depth % 3;
    for (int round = 0; round < rounds; ++round) {
      const pair got = node<How, depth - 1>(live[0] + sum, live[1], moving[0] + moving[3], c + round, live[2],
                                            e, live[3] ^ g, sum);
      for (word i = 0; i < 12; ++i)
        sum = mix(sum, live[i] + got.first * i);
      for (double& each : moving)
        each = each * 0.5 + got.second * 0.25;
      if constexpr (depth % 2 == 1) {
        const pair inner{got.first, moving[1]};
        const pair more = node<How, depth - 1>(a, sum, moving[2], c, b, inner, d, live[4]);
        sum ^= mix(more.first, live[5] + live[6] * live[7]);
        moving[4] += more.second;
      }
      for (word i = 0; i < 12; ++i)
        live[i] += sum ^ (live[(i + 5) % 12] >> 7);
    }
    double total = 0;
    for (double each : moving)
      total += each;
    return {sum ^ live[9] ^ (live[10] * live[11]), total};
  }
}

// CHECK-DAG: define internal {{.*}}preserve_nonecc {{.*}}with_switchesELi0EE
// CHECK-DAG: define internal {{.*}}preserve_nonecc {{.*}}with_switchesELi6EE
template <class How>
pair run(word seed) {
  return node<How, 6>(seed, seed * 3, static_cast<double>(seed), static_cast<int>(seed), ~seed, {seed, 0.25},
                      seed, seed << 5);
}

}  // namespace

int main() {
  make_partner();
  for (word seed = 1; seed <= 40; ++seed) {
    const pair got = run<with_switches>(seed), wanted = run<without>(seed);
    if (got.first != wanted.first || got.second != wanted.second) {
      std::printf("seed %d: %llx %g instead of %llx %g\n", static_cast<int>(seed),
                  static_cast<unsigned long long>(got.first), got.second,
                  static_cast<unsigned long long>(wanted.first), wanted.second);
      return 1;
    }
  }
}
