// The process's signal handler, and who is told by it.
#include "sennit/detail/io/signals.hpp"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "attempt.hpp"
#include "sennit/detail/io/socket.hpp"

namespace sennit::detail {

namespace {

constexpr io_direction signal_direction{&io_source::readable, &io_source::reader, "signal"};
constexpr int most_signals = 64;

std::atomic<signal_node*> nodes{nullptr};  // only ever grows at its head

struct installation {
  unsigned users = 0;
  struct sigaction former{};
};

// What the handlers do not touch.
struct registry {
  std::mutex lock;
  installation installed[most_signals];
};

registry& all() {
  static auto* only = new registry;
  return *only;
}

constexpr std::uint64_t bit_of(int signal) noexcept {
  return std::uint64_t{1} << (signal - 1);
}

void tell(signal_node& node, std::uint64_t bit) noexcept {
  node.inside.fetch_add(1,
                        std::memory_order_seq_cst);  // pairs with unpublish(), which clears, then looks here
  if ((node.wanted.load(std::memory_order_seq_cst) & bit) != 0) {
    node.pending.fetch_or(bit, std::memory_order_release);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(node.event.load(std::memory_order_relaxed), &one, sizeof one);
  }
  node.inside.fetch_sub(1, std::memory_order_release);
}

extern "C" void sennit_on_signal(int signal) {
  const int kept = errno;
  for (signal_node* node = nodes.load(std::memory_order_acquire); node != nullptr; node = node->next)
    tell(*node, bit_of(signal));
  errno = kept;
}

// Under the lock.
signal_node& take_node() {
  for (signal_node* node = nodes.load(std::memory_order_relaxed); node != nullptr; node = node->next) {
    if (!node->taken) {
      node->taken = true;
      return *node;
    }
  }
  auto* node = new signal_node;
  node->taken = true;
  node->next = nodes.load(std::memory_order_relaxed);
  nodes.store(node, std::memory_order_release);
  return *node;
}

void publish(signal_node& node, int event, std::uint64_t signals) noexcept {
  node.event.store(event, std::memory_order_relaxed);
  node.pending.store(0, std::memory_order_relaxed);
  node.wanted.store(signals, std::memory_order_seq_cst);
}

// Afterwards no handler uses the eventfd. Handlers are short, and one on this very thread ends before we go
// on.
void unpublish(signal_node& node) noexcept {
  node.wanted.store(0, std::memory_order_seq_cst);
  while (node.inside.load(std::memory_order_seq_cst) != 0)
    ::sched_yield();
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
  publish(*node_, source_.descriptor(), wanted);
  for (std::uint64_t rest = wanted; rest != 0; rest &= rest - 1) {
    const int error = install(std::countr_zero(rest) + 1);
    if (error != 0) {
      uninstall(signals_);
      unpublish(*node_);
      io_throw(-error, "wait for a signal");
    }
    signals_ |= rest & -rest;
  }
}

signal_subscription::~signal_subscription() {
  std::lock_guard hold(all().lock);
  uninstall(signals_);
  unpublish(*node_);
}

// The eventfd is never read: each write is an event, whatever its counter.
int signal_subscription::wait(time_point deadline) {
  return static_cast<int>(
      io_attempt(source_.get(), signal_direction, deadline, [this](io_source&) -> ssize_t {
        const std::uint64_t pending = node_->pending.load(std::memory_order_acquire);
        if (pending == 0)
          return -EAGAIN;
        node_->pending.fetch_and(~(pending & -pending), std::memory_order_acquire);
        return std::countr_zero(pending) + 1;
      }));
}

}  // namespace sennit::detail
