// The standard library's threads: see threads.hpp.
#include "../peers/std.hpp"
#include "threads.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::standard_threads::version(),
                         "std::mutex; single-threaded: no second thread");
  bench::measure_thread_mutex<bench::standard_threads>(program);
}
