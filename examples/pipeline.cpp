// A pipeline over channels: pipeline [LIMIT]
//
// Each fiber does one thing, and channels connect them: numbers -> three that look for primes -> a sum. A
// stage ends when its input is closed and empty. The buffer of a channel limits how far one stage may run
// ahead of the next. All fibers run on one thread, without locks and atomics.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"

using sennit::local::channel;
using sennit::local::fiber;
using sennit::local::spawn;

static bool is_prime(long n) {
  for (long divisor = 2; divisor * divisor <= n; ++divisor)
    if (n % divisor == 0)
      return false;
  return n > 1;
}

static void run(long limit) {
  channel<long> numbers(16);
  channel<long> primes;  // unbuffered: a send waits for its receiver

  fiber source = spawn([&] {
    for (long n = 0; n < limit; ++n)
      numbers.send(n);
    numbers.close();
  });

  std::vector<long> shares(3);
  std::vector<fiber> searchers;
  for (long& share : shares)
    searchers.push_back(spawn([&] {
      for (long n : numbers) {
        ++share;
        if (is_prime(n))
          primes.send(n);
      }
    }));
  fiber closer = spawn([&] {
    for (fiber& each : searchers)
      each.join();
    primes.close();
  });

  long count = 0, sum = 0;
  for (long prime : primes) {
    ++count;
    sum += prime;
  }
  source.join();
  closer.join();
  std::printf("%ld primes below %ld, their sum is %ld\n", count, limit, sum);
  for (std::size_t i = 0; i < shares.size(); ++i)
    std::printf("searcher %zu looked at %ld numbers\n", i + 1, shares[i]);
}

int main(int argc, char** argv) {
  const long limit = argc > 1 ? std::atol(argv[1]) : 100'000;
  sennit::local::runtime runtime;
  runtime.run([&] { run(limit); });
}
