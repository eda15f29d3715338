// Prints the clock the core really ran at, in GHz, measured by instructions of known length: a chain of
// additions of a register to itself, each of which waits for the one before and takes one cycle. (A chain of
// additions of a constant takes less than that: the processor folds them.)
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace {

constexpr int chain = 1000;
constexpr int links = 2000;

bool run_chain() {
  std::uint64_t value = 1;
  for (int i = 0; i < links; ++i) {
#if defined(__x86_64__)
    asm volatile(".rept 1000\n\tadd %0, %0\n\t.endr" : "+r"(value) : : "cc");
#elif defined(__aarch64__)
    asm volatile(".rept 1000\n\tadd %0, %0, %0\n\t.endr" : "+r"(value));
#else
    return false;
#endif
  }
  return true;
}

std::int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace

int main() {
  double best = 0;
  for (int repetition = 0; repetition < 30; ++repetition) {
    const std::int64_t start = now();
    if (!run_chain()) {
      std::fprintf(stderr, "no calibration for this architecture\n");
      return 1;
    }
    const double ghz = static_cast<double>(chain) * links / static_cast<double>(now() - start);
    if (ghz > best)
      best = ghz;
  }
  std::printf("{\"ghz\":%.4f}\n", best);
}
