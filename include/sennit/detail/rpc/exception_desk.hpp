// Where faults of fibers wait for an exception server: the hook that their stacks have (fault/hook.hpp).
//
//   faulting fiber, in the place of its instruction       server's fiber
//   desk.serve(): a call on its own stack, filed          receive(): takes it, tells registers and address
//   waits until it is answered                            reply(): verdict, registers; wakes it
//   resumes, or is killed, or has the fault happen again
//
// Between filing and reply both may be told that the runtime ends, and leave; the lock says who still refers
// to whom. The faulting fiber is pinned to its worker meanwhile: code that does not know that it waits may
// have the address of a thread-local variable in a register.
//
// Nobody is asked while the fiber is in the middle of the scheduler's work, as far as that can be seen: its
// descriptor says that it waits, or another one is current; nor where it is not to yield (to wait for a
// server would be one), nor while it holds a pthread lock (which debug builds know, and code with checks says
// by the former), nor where it serves somebody's fault itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "sennit/counting_semaphore.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/fault/hook.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/sync/local_wait_queue.hpp"
#include "sennit/detail/sync/wait_queue.hpp"
#include "sennit/local/counting_semaphore.hpp"

namespace sennit {

// What a server decides.
enum class verdict : std::uint8_t {
  resume,  // the instruction is done again, with the registers as the server has left them
  kill,    // sennit::killed is thrown by the guarded() function that the fiber is in; else the fiber ends
  unwind,  // sennit::killed is thrown by the instruction
  pass,    // as if there were no server: the handler that was there before Sennit's, or the process's end
};

}  // namespace sennit

namespace sennit::detail {

// Of fibers of one thread.
struct no_lock {
  void lock() noexcept {}
  void unlock() noexcept {}
};

struct exceptions_in_parallel {
  using queue = wait_queue;
  using lock = spin_lock;
  using semaphore = sennit::counting_semaphore;
  static constexpr bool local = false;
};
struct exceptions_in_local {
  using queue = local_wait_queue;
  using lock = no_lock;
  using semaphore = local::counting_semaphore;
  static constexpr bool local = true;
};

template <class Kind>
class exception_desk : public fault_hook {
public:
  struct call;
  // The server's end of a fault that it has received.
  struct holder {
    call* of = nullptr;  // null: none, or answered, or its fiber has left
    bool was_received = false;
    fault_kind kind{};
    void* address = nullptr;
    machine_registers registers{};
    char fiber[32] = {};
  };
  // The fiber's, on its stack.
  struct call {
    const fault_site& site;
    fiber& who;
    call* next = nullptr;
    holder* received = nullptr;
    verdict answer = verdict::pass;
    typename Kind::queue done{};  // 1: answered
  };

  exception_desk() noexcept : fault_hook{wants, serve} {}
  exception_desk(const exception_desk&) = delete;
  exception_desk& operator=(const exception_desk&) = delete;

  // The server's. Nothing is received if the deadline has passed.
  void receive(holder& into, time_point deadline);
  // In parts, for who has no stack meanwhile: who is to receive; what it waits for, a permit for each fault;
  // then it takes that. False: it was withdrawn.
  void is_received_by(fiber& server) noexcept;
  auto filing() noexcept { return filed_.acquiring(); }
  bool take(holder& into) noexcept;
  void reply(holder& to, verdict answer) noexcept;
  // Who waits, and who comes from now on, is passed on.
  void close() noexcept;

private:
  static bool wants(const fault_hook& self, fault_site& site) noexcept;
  static fault_answer serve(const fault_hook& self, const fault_site& site);
  verdict ask(const fault_site& site, fiber& who, bool& leaves);
  [[gnu::noinline]] bool file(call& mine) noexcept;  // inline, gcc 12 takes it for the escape of a local
  void withdraw(call& mine) noexcept;
  call* take_first() noexcept;

  [[no_unique_address]] typename Kind::lock lock_;
  call* first_ = nullptr;  // filed, not received: oldest first
  call** last_ = &first_;
  std::atomic<bool> closed_{false};
  std::atomic<std::uint32_t> receiver_{0};  // the number of who received last
  typename Kind::semaphore filed_{0};
};

extern template class exception_desk<exceptions_in_parallel>;
extern template class exception_desk<exceptions_in_local>;

// Before anybody has a hook.
void prepare_to_serve() noexcept;

// A fiber's hook while it lives: it leads to `to`. In a fiber of any runtime.
class hook_of_fiber {
public:
  explicit hook_of_fiber(const fault_hook& to) noexcept;
  ~hook_of_fiber();
  hook_of_fiber(const hook_of_fiber&) = delete;
  hook_of_fiber& operator=(const hook_of_fiber&) = delete;

private:
  stack_record& record_;
  const fault_hook* const before_;
};

// The same for all fibers of the calling fiber's runtime that have none of their own. `to` is kept for good:
// another worker may be about to ask it just now.
class hook_of_runtime {
public:
  explicit hook_of_runtime(std::shared_ptr<const fault_hook> to);
  ~hook_of_runtime();
  hook_of_runtime(const hook_of_runtime&) = delete;
  hook_of_runtime& operator=(const hook_of_runtime&) = delete;

private:
  static void set(const fault_hook* hook) noexcept;
};

// Calls it. What a server kills is given up so far.
#if defined(__clang__)
[[gnu::noinline]]
#else
[[gnu::noipa]]
#endif
void call_guarded(void (*function)(void*), void* argument);

// The hook of fibers that are served by nobody.
extern const fault_hook unserved;

}  // namespace sennit::detail
