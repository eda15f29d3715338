// A kernel thread: pthread_create and pthread_join.
#include <gnu/libc-version.h>
#include <pthread.h>

#include "create.hpp"

namespace {

void* run(void* value) {
  return bench::opaque(value);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, gnu_get_libc_version(), "default attributes (glibc keeps stacks)");

  bench::measure_create(program, "pthread_create", [](std::uint64_t value) {
    pthread_t thread;
    bench::require(pthread_create(&thread, nullptr, &run, reinterpret_cast<void*>(value)) == 0,
                   "pthread_create failed");
    void* result = nullptr;
    pthread_join(thread, &result);
    return reinterpret_cast<std::uint64_t>(result);
  });
}
