// POSIX threads: see fib.hpp.
#include "../peers/pthread.hpp"
#include "fib.hpp"

namespace {

struct call {
  long n;
  long result = 0;
};

long fib(long n);

void* run(void* argument) {
  auto& self = *static_cast<call*>(argument);
  self.result = fib(self.n);
  return nullptr;
}

long fib(long n) {
  if (n < 2)
    return n;
  call a = {n - 1};
  call b = {n - 2};
  bench::pthreads::fiber first(run, &a);
  bench::pthreads::fiber second(run, &b);
  first.join();
  second.join();
  return a.result + b.result;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr long most = 14;  // more kernel threads than that a machine in use should not be asked for
  bench::program program(argc, argv, bench::pthreads::version(),
                         "n = 12 (quick: 10, at most 14), 64 KiB stacks, which glibc keeps",
                         bench::fib_parameters(12, 10));
  bench::pthreads::run([&] { bench::measure_fib(program, "pthread", fib, most); });
}
