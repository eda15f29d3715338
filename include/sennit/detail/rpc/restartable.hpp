// How a fiber gives up its stack because of a fault, and begins its function again (sennit::restartable).
//
//   fault, on the fiber's stack                 the server's fiber
//   nothing to destroy in any frame?
//   frames are left, the stack is the worker's
//     the call waits in the descriptor          receives the fault, replies
//   a stack again: the function from its beginning, or the end
//
// The interrupted code may hold malloc's locks. So the memory of the call exists before the fault does.
//
// Source: Draves et al. 1991, section 2.2: page faults block with a continuation.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/arch/redirect.hpp"
#include "sennit/detail/cont/waits.hpp"
#include "sennit/detail/sched/continuation.hpp"

namespace sennit::inline v0_1::detail {

// What a fault's call needs in a continuation_overflow (fault_dispatcher.hpp).
inline constexpr std::size_t fault_call_size = sizeof(machine_registers) + 160;

// The function that the running fiber begins again after a fault. A fiber-local value while that function
// runs, and part of the call while the fault is served.
struct restart : local_value {
  // Throws std::bad_alloc.
  restart(void (*destroyed_by)(local_value& self) noexcept, bool passes_fault)
      : local_value{local_key::restart, destroyed_by},
        memory(continuation_overflow::make(fault_call_size)),
        passes(passes_fault) {}
  // `passes_next`: the next fault is not served. Throws std::bad_alloc.
  virtual continuation again(bool passes_next) const = 0;

  continuation_overflow* memory;  // null: the call has it
  bool passes;

protected:
  ~restart() {
    if (memory != nullptr)
      continuation_overflow::destroy(memory);
  }
};
inline void destroy_owned(restart* set) noexcept {
  set->destroy(*set);
}

bool may_begin_again() noexcept;           // false: the runtime ends, and faults are no longer served
void set_restart(restart* made) noexcept;  // takes ownership
void clear_restart() noexcept;

// None of the frames of these may have a table with anything in it (unwind.hpp). So what may throw is done in
// a frame that has returned.
template <class Function, class State>
struct runs_restartable {
  static_assert(std::is_trivially_copyable_v<Function> && std::is_trivially_copyable_v<State>,
                "a restartable function and its state are copied bytewise, and own nothing");
  struct holder final : restart {
    holder(const runs_restartable& with, const State& from, bool passes_fault)
        : restart([](local_value& self) noexcept { delete static_cast<holder*>(&self); }, passes_fault),
          function(with.function),
          state(from) {}
    continuation again(bool passes_next) const override {
      return block(yield_wait{}, runs_restartable{function, passes_next}, State(state));
    }
    [[no_unique_address]] Function function;
    [[no_unique_address]] State state;
  };
  [[gnu::noinline]] static void begin(const runs_restartable& with, const State& state) {
    set_restart(new holder(with, state, with.passes));
  }

  continuation operator()(State& state) {
    if (!may_begin_again())
      return {};
    begin(*this, state);
    continuation next = invoke_continuation(function, state);
    clear_restart();
    return next;
  }
  continuation operator()()
    requires std::is_same_v<State, no_state>
  {
    no_state none;
    return (*this)(none);
  }

  Function function;
  bool passes = false;
};

}  // namespace sennit::inline v0_1::detail
