// Dumps on a signal. The handler only posts the request, and a separate thread prints the dump.
#include <semaphore.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <mutex>
#include <system_error>

#include "sennit/detail/observe/stop_the_world.hpp"
#include "sennit/dump.hpp"
#include "system/service_thread.hpp"

namespace sennit::inline v0_1 {

namespace {

constinit sem_t dump_wanted;

void want_dump(int) noexcept {
  ::sem_post(&dump_wanted);
}

void* dump_when_wanted(void*) noexcept {
  for (;;)
    if (::sem_wait(&dump_wanted) == 0)
      dump(STDERR_FILENO);
}

// Returns an errno value.
int start_dumper() noexcept {
  ::sem_init(&dump_wanted, 0, 0);
  return detail::start_service_thread("sennit/dump", dump_when_wanted, nullptr);
}

}  // namespace

void dump_on_signal(int signal) {
  static constinit std::mutex one_at_a_time;
  static constinit bool started = false;
  const std::lock_guard hold(one_at_a_time);
  const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
  int error = fault || signal == detail::stop_the_world::signal ? EINVAL : 0;
  if (error == 0 && !started)
    error = start_dumper();
  if (error == 0) {
    started = true;
    struct sigaction action{};
    action.sa_handler = want_dump;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigfillset(&action.sa_mask);
    error = ::sigaction(signal, &action, nullptr) != 0 ? errno : 0;
  }
  if (error != 0)
    throw std::system_error(error, std::generic_category(), "sennit: dump on a signal");
}

}  // namespace sennit::inline v0_1
