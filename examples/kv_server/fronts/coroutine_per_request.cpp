// Each request executed in a coroutine spawned for it: the experiment of "Making coroutines fast"
// (RethinkDB), with its two optimisations to be switched on one by one. This is not how to write a server:
// the fiber front spawns one coroutine for a connection, and the library always has both.
//
//   pooled     A coroutine that has executed its request is kept in a free list: stack, context and run loop.
//              Otherwise each request allocates them and frees them.
//   swap       Switches by Sennit's switch; otherwise by the C library's swapcontext, with its system call.
//
// It uses the switch itself, below the library's API: the same code must use both kinds of switch, and the
// library's coroutines always come from a pool.
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "commands.hpp"
#include "sennit/detail/arch/context.h"
#include "servers.hpp"

namespace kv {

namespace {

coroutine_settings settings_of_all;

// Two sides that take turns: the coroutine, and whoever has entered it.
class light_switch {
public:
  void make(char* stack, std::size_t size, void (*body)(void*), void* argument) {
    other_ = sennit_newstack(stack + size, begin);
    body_ = body;
    argument_ = argument;
  }
  // Enters the coroutine, or leaves it.
  void enter() { other_ = sennit_swapstack(other_, reinterpret_cast<std::uintptr_t>(this)).from; }
  void leave() { enter(); }

private:
  static void begin(sennit_context from, std::uintptr_t word, std::uintptr_t, std::uintptr_t,
                    std::uintptr_t) noexcept {
    auto* self = reinterpret_cast<light_switch*>(word);
    self->other_ = from;
    self->body_(self->argument_);
  }

  sennit_context other_ = nullptr;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
};

class heavy_switch {
public:
  void make(char* stack, std::size_t size, void (*body)(void*), void* argument) {
    body_ = body;
    argument_ = argument;
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack;
    own_.uc_stack.ss_size = size;
    own_.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&own_, reinterpret_cast<void (*)()>(&begin), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
  }
  void enter() { swapcontext(&caller_, &own_); }
  void leave() { swapcontext(&own_, &caller_); }

private:
  // makecontext passes ints.
  static void begin(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<heavy_switch*>(std::uintptr_t{high} << 32 | low);
    self->body_(self->argument_);
  }

  ucontext_t own_, caller_;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
};

char* allocate_stack() {
  const std::size_t size = settings_of_all.stack_size;
  void* memory = nullptr;
  if (settings_of_all.mapped) {
    memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  } else {
    memory = settings_of_all.zeroed ? std::calloc(1, size) : std::malloc(size);
  }
  if (memory == nullptr || memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return static_cast<char*>(memory);
}

struct stack_freer {
  void operator()(char* memory) const {
    if (settings_of_all.mapped) {
      ::munmap(memory, settings_of_all.stack_size);
    } else {
      std::free(memory);
    }
  }
};

template <class Switch>
class request_coroutine {
public:
  request_coroutine() : stack_(allocate_stack()) {
    switch_.make(stack_.get(), settings_of_all.stack_size, run_loop, this);
  }

  void execute(invocation& call) {
    call_ = &call;
    switch_.enter();
  }
  // Zeroes the stack, except for the frames of the run loop, if that has begun.
  void zero() {
    if (frames_ != nullptr) {
      std::memset(stack_.get(), 0, static_cast<std::size_t>(frames_ - stack_.get()));
    }
  }

private:
  // Destroyed where it leaves: nothing there needs a destructor.
  static void run_loop(void* argument) {
    auto* self = static_cast<request_coroutine*>(argument);
    self->frames_ = static_cast<char*>(__builtin_frame_address(0)) - most_frame_bytes;
    for (;;) {
      kv::execute(*self->call_);
      self->switch_.leave();
    }
  }

  static constexpr std::size_t most_frame_bytes = 512;  // of the run loop, and of a switch that it calls

  std::unique_ptr<char[], stack_freer> stack_;
  char* frames_ = nullptr;
  invocation* call_ = nullptr;
  Switch switch_;
};

template <class Switch, bool pooled>
void execute_in_one(invocation& call) {
  static std::vector<std::unique_ptr<request_coroutine<Switch>>> free_list;
  if (free_list.empty()) {
    free_list.push_back(std::make_unique<request_coroutine<Switch>>());
  }
  auto spawned = std::move(free_list.back());
  free_list.pop_back();
  if (pooled && settings_of_all.zeroed_again) {
    spawned->zero();
  }
  spawned->execute(call);
  if constexpr (pooled) {
    free_list.push_back(std::move(spawned));
  }
}

}  // namespace

executor in_coroutines(const coroutine_settings& chosen) {
  settings_of_all = chosen;
  if (chosen.swap) {
    return chosen.pooled ? execute_in_one<light_switch, true> : execute_in_one<light_switch, false>;
  }
  return chosen.pooled ? execute_in_one<heavy_switch, true> : execute_in_one<heavy_switch, false>;
}

}  // namespace kv
