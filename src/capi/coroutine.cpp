// Coroutines.
#include "sennit/coroutine.hpp"

#include "error.hpp"

using namespace sennit;
using capi::guarded;

namespace {
using word_coroutine = coroutine<std::uintptr_t(std::uintptr_t)>;
}

struct sennit_coroutine {
  sennit_coroutine(sennit_coroutine_function function, void* argument, std::size_t stack_size)
      : coroutine(
            [this, function, argument](word_coroutine::handle& self, std::uintptr_t first) {
              inside = &self;
              return function(this, argument, first);
            },
            stack_size) {}

  word_coroutine::handle* inside = nullptr;  // what it yields through
  bool running = false;
  word_coroutine coroutine;
};

int sennit_coroutine_create(sennit_coroutine** result, sennit_coroutine_function function, void* argument,
                            size_t stack_size) {
  if (result == nullptr || function == nullptr)
    return -EINVAL;
  return guarded([&] {
    *result =
        new sennit_coroutine(function, argument, stack_size != 0 ? stack_size : detail::default_stack_size);
    return 0;
  });
}

int sennit_coroutine_destroy(sennit_coroutine* coroutine) {
  if (coroutine != nullptr && coroutine->running)
    return -EINVAL;
  delete coroutine;
  return 0;
}

int sennit_coroutine_resume(sennit_coroutine* coroutine, uintptr_t in, uintptr_t* out) {
  if (coroutine == nullptr || coroutine->running || coroutine->coroutine.done())
    return -EINVAL;
  return guarded([&]() -> int {
    struct while_running {
      explicit while_running(bool& flag) : running(flag) { running = true; }
      ~while_running() { running = false; }
      bool& running;
    } mark(coroutine->running);
    const std::uintptr_t word = coroutine->coroutine(in);
    if (out != nullptr)
      *out = word;
    return coroutine->coroutine.done() ? 0 : 1;
  });
}

bool sennit_coroutine_done(const sennit_coroutine* coroutine) {
  return coroutine == nullptr || coroutine->coroutine.done();
}

uintptr_t sennit_coroutine_yield(sennit_coroutine* self, uintptr_t out) {
  assert(self != nullptr && self->running && "sennit: a yield outside of the coroutine");
  return self->inside->yield(out);
}
