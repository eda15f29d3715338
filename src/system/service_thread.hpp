// Threads that serve all runtimes of a process, and the state that they share.
#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>

#include "sennit/detail/arch/never_destroyed.hpp"
#include "sennit/detail/system/process.hpp"

namespace sennit::inline v0_1::detail {

// Starts a thread that the caller joins. It blocks all signals, which are for the program's threads. `name`:
// at most 15 characters. Returns an errno value.
inline int start_joinable_thread(pthread_t& thread, const char* name, void* (*serve)(void*),
                                 void* argument) noexcept {
  sigset_t every;
  sigset_t former;
  ::sigfillset(&every);
  ::pthread_sigmask(SIG_SETMASK, &every, &former);
  const int error = ::pthread_create(&thread, nullptr, serve, argument);
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  if (error == 0)
    ::pthread_setname_np(thread, name);
  return error;
}

// Starts a thread that is never joined.
inline int start_service_thread(const char* name, void* (*serve)(void*), void* argument) noexcept {
  pthread_t thread;
  const int error = start_joinable_thread(thread, name, serve, argument);
  if (error == 0)
    ::pthread_detach(thread);
  return error;
}

// The process's only State, which derives from this. It is never destroyed, because its threads may outlive
// static objects. A forked child has none of these threads, and gets another State.
struct of_process {
  const unsigned process = process_generation();
  const of_process* parents = nullptr;  // in a child: kept reachable, for leak checkers
};

template <class State>
State& of_this_process() {
  static never_destroyed<State> first;
  static std::atomic<State*> only{&first.value};
  State* mine = only.load(std::memory_order_acquire);
  if (mine->process != process_generation()) [[unlikely]] {  // in a forked child
    State* const parents = mine;
    mine = new State;
    mine->parents = parents;
    only.store(mine, std::memory_order_release);
  }
  return *mine;
}

}  // namespace sennit::inline v0_1::detail
