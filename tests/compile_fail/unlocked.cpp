// Data that a lock guards, read without it (detail/arch/thread_safety.hpp).
#include "sennit/detail/parallel/worker.hpp"

const void* first_spare(const sennit::detail::parallel_runtime& of) {
  return of.spare;
}
