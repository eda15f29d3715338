// The standard library's threads: see queue.hpp.
#include "../peers/std.hpp"
#include "queue.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::standard_threads::version(),
                         "std::mutex, std::condition_variable");

  bench::standard_threads::run([&] { bench::measure_queue<bench::standard_threads>(program, "std"); });
}
