// The process's signal handler, and the subscriptions that it notifies.
#include "sennit/detail/io/signals.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "attempt.hpp"
#include "sennit/detail/arch/never_destroyed.hpp"
#include "sennit/detail/io/socket.hpp"
#include "sennit/detail/stack/append_only_list.hpp"

namespace sennit::inline v0_1::detail {

namespace {

constexpr io_direction signal_direction = reading_for("signal");
constexpr int most_signals = 64;

constinit append_only_list<signal_node> nodes;

struct installation {
  unsigned users = 0;
  struct sigaction former{};
};

// What the handlers do not touch.
struct registry {
  std::mutex lock;
  installation installed[most_signals];
};

constinit never_destroyed<registry> signals_of_process;

registry& all() noexcept {
  return signals_of_process.value;
}

constexpr std::uint64_t bit_of(int signal) noexcept {
  return std::uint64_t{1} << (signal - 1);
}

extern "C" void sennit_on_signal(int signal) {
  const int kept = errno;
  for (signal_node* node = nodes.newest(); node != nullptr; node = node->next)
    node->deliver(bit_of(signal), [](int event) {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto put = ::write(event, &one, sizeof one);
    });
  errno = kept;
}

// Under the lock.
signal_node& take_node() {
  for (signal_node* node = nodes.newest(); node != nullptr; node = node->next) {
    if (!node->taken) {
      node->taken = true;
      return *node;
    }
  }
  auto* node = new signal_node;
  node->taken = true;
  nodes.add(node);
  return *node;
}

// Under the lock.
void give_node(signal_node& node) noexcept {
  node.unpublish();
  node.taken = false;
}

// Under the lock. Returns an errno, negated.
int install(int signal) noexcept {
  installation& entry = all().installed[signal - 1];
  if (entry.users == 0) {
    struct sigaction action{};
    action.sa_handler = sennit_on_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigfillset(&action.sa_mask);
    if (::sigaction(signal, &action, &entry.former) != 0)
      return -errno;
  }
  ++entry.users;
  return 0;
}

// Under the lock.
void uninstall(std::uint64_t signals) noexcept {
  for (; signals != 0; signals &= signals - 1) {
    const int signal = std::countr_zero(signals) + 1;
    installation& entry = all().installed[signal - 1];
    if (--entry.users != 0)
      continue;
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == sennit_on_signal)
      ::sigaction(signal, &entry.former, nullptr);
  }
}

std::uint64_t mask_of(std::span<const int> signals) {
  std::uint64_t mask = 0;
  for (const int signal : signals) {
    const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
    if (signal < 1 || signal > most_signals || fault)
      io_throw(EINVAL, "wait for a signal");
    mask |= bit_of(signal);
  }
  return mask;
}

owned_source make_event() {
  const int event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (event < 0)
    io_throw(errno, "wait for a signal");
  return owned_source(event);
}

}  // namespace

signal_subscription::signal_subscription(std::span<const int> signals) {
  const std::uint64_t wanted = mask_of(signals);
  source_ = make_event();
  std::lock_guard hold(all().lock);
  node_ = &take_node();
  node_->publish(source_.descriptor(), wanted);
  for (std::uint64_t rest = wanted; rest != 0; rest &= rest - 1) {
    const int error = install(std::countr_zero(rest) + 1);
    if (error != 0) {
      uninstall(signals_);
      give_node(*node_);
      io_throw(-error, "wait for a signal");
    }
    signals_ |= rest & -rest;
  }
}

signal_subscription::~signal_subscription() {
  std::lock_guard hold(all().lock);
  uninstall(signals_);
  give_node(*node_);
}

// The eventfd is never read: each write is an event, whatever its counter.
int signal_subscription::wait(time_point deadline) {
  return static_cast<int>(
      io_attempt(source_.get(), signal_direction, deadline, [this](io_source&, auto) -> ssize_t {
        const std::uint64_t pending = node_->pending.load(std::memory_order_acquire);
        if (pending == 0)
          return -EAGAIN;
        node_->pending.fetch_and(~(pending & -pending), std::memory_order_acquire);
        return std::countr_zero(pending) + 1;
      }));
}

}  // namespace sennit::inline v0_1::detail
