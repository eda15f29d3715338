// POSIX threads: see threads.hpp.
#include "../peers/pthread.hpp"
#include "threads.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(),
                         "default mutex; single-threaded: no second thread");
  bench::measure_thread_mutex<bench::pthreads>(program);
}
