// What there is, looked at while all workers are held, and then told.
//
// While they are held nothing is allocated (their locks are held with them): what is seen goes to memory that
// was mapped before, or is mapped by the piece. Names of functions are looked up when they are let go.
#include "sennit/dump.hpp"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "sennit/detail/sched/dump.hpp"
#include "sennit/detail/sched/registry.hpp"
#include "sennit/detail/sched/stopped_workers.hpp"
#include "sennit/detail/sched/wait.hpp"

namespace sennit {

namespace detail {

namespace {

using namespace std::chrono_literals;

// So long workers are held for backtraces; what is left then is listed without.
constexpr clock::duration patience = 1s;

struct seen_worker {
  const worker* at;
  const parallel_runtime* shared;
  unsigned index;
  bool held;
  bool has_thread;
  const stopped_thread* place;
  const fiber* current;
  std::uint64_t runs;  // a fiber's id, or 0
};

enum class seen_state : std::uint8_t { parked, ready, not_begun, running, unknown };

// One fiber, and its backtrace behind it.
struct seen_fiber {
  const fiber* at;
  std::size_t worker;     // its home's place in the list
  std::uint64_t id;       // 0: not known
  std::uintptr_t joiner;  // who joins it: a descriptor, or a place on a fiber's stack
  std::uintptr_t low, high;
  const char* reason;
  seen_state state;
  char name[sizeof fiber::name];
  std::size_t depth;

  std::uintptr_t* addresses() noexcept { return reinterpret_cast<std::uintptr_t*>(this + 1); }
  std::size_t bytes() const noexcept { return sizeof *this + depth * sizeof(std::uintptr_t); }
};

// Memory that takes no lock.
class arena {
public:
  arena() = default;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() {
    while (newest_ != nullptr)
      ::munmap(std::exchange(newest_, newest_->older), piece_size);
  }

  // Room for a fiber with the deepest backtrace; null: there is no memory.
  seen_fiber* room() noexcept {
    if (newest_ == nullptr || piece_size - newest_->used < most) {
      void* const memory =
          ::mmap(nullptr, piece_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED)
        return nullptr;
      newest_ = ::new (memory) piece{newest_};
    }
    return ::new (reinterpret_cast<char*>(newest_) + newest_->used) seen_fiber{};
  }
  void keep(const seen_fiber& f) noexcept { newest_->used += f.bytes(); }

  std::vector<seen_fiber*> all() const {
    std::vector<seen_fiber*> found;
    for (piece* each = newest_; each != nullptr; each = each->older)
      for (std::size_t at = sizeof(piece); at < each->used; at += found.back()->bytes())
        found.push_back(reinterpret_cast<seen_fiber*>(reinterpret_cast<char*>(each) + at));
    return found;
  }

private:
  struct piece {
    piece* older;
    std::size_t used = sizeof(piece);
  };
  static constexpr std::size_t piece_size = std::size_t{1} << 20;
  static constexpr std::size_t most = sizeof(seen_fiber) + backtrace_depth * sizeof(std::uintptr_t);

  piece* newest_ = nullptr;
};

// A look at what its owner may be changing, each word in one piece.
template <class T>
SENNIT_UNSANITIZED T look(const T& at) noexcept {
  return *const_cast<const volatile T*>(&at);
}

class look_round {
public:
  look_round(std::vector<seen_worker>& workers, arena& to, const stack_memory& scratch) noexcept
      : workers_(workers), to_(to), scratch_(scratch) {}

  // All workers, while they are held.
  SENNIT_UNSANITIZED void see(const stopped_workers& held) noexcept {
    see_workers(held);
    for (fiber_block* block = sennit_debug.blocks; block != nullptr; block = block->older)
      for (fiber& each : block->fibers)
        see_fiber(each);
  }

  bool whole() const noexcept { return whole_; }

private:
  SENNIT_UNSANITIZED void see_workers(const stopped_workers& held) noexcept {
    for (registration* each = sennit_debug.workers; each != nullptr; each = each->older) {
      worker& w = *each->worker;
      seen_worker seen{&w, w.shared, 0, held.holds(w), w.thread != 0, held.place_of(w), look(w.ready.current),
                       0};
      if (seen.shared != nullptr)
        seen.index = static_cast<const parallel_worker&>(w).index;
      if (workers_.size() < workers_.capacity())
        workers_.push_back(seen);
      else
        whole_ = false;
    }
    // A runtime's fibers stay as they are if all its workers do.
    for (seen_worker& each : workers_)
      if (each.shared != nullptr && !each.held)
        for (seen_worker& other : workers_)
          if (other.shared == each.shared)
            other.held = false;
  }

  SENNIT_UNSANITIZED void see_fiber(fiber& f) noexcept {
    const fiber_status status = look(f.flags.status);
    const worker* const home = look(f.home);
    if (status == fiber_status::unused || status == fiber_status::finished || home == nullptr)
      return;
    const auto place = std::ranges::find(workers_, home, &seen_worker::at);
    seen_fiber* const seen = place != workers_.end() ? to_.room() : nullptr;
    whole_ &= place == workers_.end() || seen != nullptr;
    if (seen == nullptr)
      return;
    seen->at = &f;
    seen->worker = static_cast<std::size_t>(place - workers_.begin());
    for (std::size_t i = 0; i < sizeof seen->name; ++i)
      seen->name[i] = look(f.name[i]);
    seen->name[sizeof seen->name - 1] = 0;
    seen->state = seen_state::unknown;
    seen->id = look(f.id);
    if (place->held)
      see_held(*seen, f, status);
    to_.keep(*seen);
  }

  // As fiber_id; but a thread that is no worker may be making this fiber just now.
  SENNIT_UNSANITIZED static std::uint64_t id_of(fiber& f) noexcept {
    std::uint32_t known = look(f.id);
    if (known != 0)
      return known;
    const std::uint32_t fresh = fiber_fresh_id();
    return __atomic_compare_exchange_n(&f.id, &known, fresh, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
               ? fresh
               : known;
  }

  SENNIT_UNSANITIZED void see_held(seen_fiber& seen, fiber& f, fiber_status status) noexcept {
    seen.id = id_of(f);
    seen.joiner = reinterpret_cast<std::uintptr_t>(look(f.joiner));
    if (const coroutine_frame* frame = look(f.frame); frame != nullptr) {
      seen.low = reinterpret_cast<std::uintptr_t>(frame->record.memory.low);
      seen.high = seen.low + frame->record.memory.size;
    }
    const bool parked = status >= fiber_status::parked && status <= fiber_status::joining;
    seen.state = parked ? seen_state::parked : seen_state::ready;
    if (const seen_worker* runner = runner_of(seen)) {
      seen.state = seen_state::running;
      if (runner->place != nullptr)
        copy(seen, runner->place->backtrace());
      return;
    }
    if (parked)
      seen.reason = workers_[seen.worker].shared != nullptr ? f.site->reason : f.reason;
    else if (!has_begun(f))
      seen.state = seen_state::not_begun;
    if (seen.state != seen_state::not_begun && f.frame != nullptr && clock::now() < until_)
      seen.depth = backtrace_of(f.context, scratch_, {seen.addresses(), backtrace_depth});
  }

  // Whoever's stack a thread stands on; or the one that a worker names, if it stands on no fiber's: it is in
  // a coroutine, or in the scheduler. A worker that stands on another's stack is about to enter the one it
  // names.
  SENNIT_UNSANITIZED seen_worker* runner_of(const seen_fiber& seen) noexcept {
    for (seen_worker& each : workers_) {
      const std::uintptr_t sp = each.place != nullptr ? each.place->stack_pointer : 0;
      const bool on_it = sp >= seen.low && sp < seen.high;
      const bool named = each.current == seen.at && each.place != nullptr && !stands_on_a_fiber(sp);
      if (on_it || named) {
        each.runs = seen.id;
        return &each;
      }
    }
    return nullptr;
  }

  SENNIT_UNSANITIZED static bool stands_on_a_fiber(std::uintptr_t sp) noexcept {
    const stack_place place = stack_find(sp);
    return place.found && place.record != nullptr && std::strcmp(place.record->kind, "fiber") == 0;
  }

  SENNIT_UNSANITIZED static bool has_begun(const fiber& f) noexcept {
#if defined(SENNIT_SANITIZED) || defined(SENNIT_BACKEND_UCONTEXT)
    return f.frame != nullptr;
#else
    return f.frame != nullptr &&
           !(f.context == f.frame->context &&
             reinterpret_cast<const sennit_context_record*>(f.context)->resume == sennit_enter_rounds);
#endif
  }

  SENNIT_UNSANITIZED static void copy(seen_fiber& to, std::span<const std::uintptr_t> from) noexcept {
    to.depth = std::min(from.size(), backtrace_depth);
    for (std::size_t i = 0; i < to.depth; ++i)
      to.addresses()[i] = from[i];
  }

  std::vector<seen_worker>& workers_;
  arena& to_;
  const stack_memory& scratch_;
  const time_point until_ = clock::now() + patience;
  bool whole_ = true;
};

// ---- The text.

class report {
public:
  report(int fd, const std::vector<seen_worker>& workers, std::vector<seen_fiber*> fibers)
      : fd_(fd), workers_(workers), fibers_(std::move(fibers)) {
    std::ranges::sort(fibers_, {}, [](const seen_fiber* f) { return std::pair(f->id, f->at); });
    by_stack_ = fibers_;
    std::ranges::sort(by_stack_, {}, &seen_fiber::low);
    for (const seen_fiber* each : fibers_)
      if (const seen_fiber* joiner = fiber_at(each->joiner))
        joins_.emplace_back(joiner, each);
    std::ranges::sort(joins_);
  }

  // What a deadlock is, as far as it can be known: there are fibers, all are parked, none waits for a call on
  // a thread of the pool, or belongs to a runtime that somebody outside runs when he likes.
  bool all_wait_for_each_other() const {
    return !fibers_.empty() && std::ranges::all_of(fibers_, [this](const seen_fiber* f) {
      return f->state == seen_state::parked && workers_[f->worker].has_thread &&
             std::strcmp(f->reason, "offload") != 0;
    });
  }

  void print_deadlock() {
    text_ += "sennit: deadlock: all fibers wait, and nothing that could wake one is known to come\n";
    print_cycles();
  }

  // `whole`: nothing was left out for want of room.
  void print(bool whole) {
    text_ += "sennit: " + std::to_string(fibers_.size()) + (fibers_.size() == 1 ? " fiber\n" : " fibers\n");
    std::vector<const void*> runtimes;
    for (auto each = workers_.rbegin(); each != workers_.rend(); ++each) {  // the newest come first there
      const void* runtime = runtime_of(*each);
      if (std::ranges::find(runtimes, runtime) == runtimes.end())
        runtimes.push_back(runtime);
    }
    for (std::size_t i = 0; i < runtimes.size(); ++i) {
      print_runtime(i + 1, runtimes[i]);
      for (seen_fiber* each : fibers_)
        if (runtime_of(workers_[each->worker]) == runtimes[i])
          print_fiber(*each);
    }
    if (!whole)
      text_ += "sennit: there was no room for more\n";
    flush();
  }

private:
  static const void* runtime_of(const seen_worker& w) {
    return w.shared != nullptr ? static_cast<const void*>(w.shared) : w.at;
  }

  // By its descriptor, or by a place on its stack.
  const seen_fiber* fiber_at(std::uintptr_t address) const {
    if (address <= ended_unobserved)
      return nullptr;
    auto above = std::ranges::upper_bound(by_stack_, address, {}, &seen_fiber::low);
    if (above != by_stack_.begin() && address < (*--above)->high)
      return *above;
    const auto same = std::ranges::find(fibers_, reinterpret_cast<const fiber*>(address), &seen_fiber::at);
    return same != fibers_.end() ? *same : nullptr;
  }

  void print_runtime(std::size_t number, const void* runtime) {
    text_ += "runtime " + std::to_string(number);
    std::vector<const seen_worker*> its;
    for (const seen_worker& each : workers_)
      if (runtime_of(each) == runtime)
        its.insert(its.begin(), &each);
    const bool local = its.front()->shared == nullptr;
    text_ += local ? " (local):" : ": " + std::to_string(its.size()) + " workers:";
    for (const seen_worker* each : its) {
      text_ += each == its.front() ? "" : ";";
      if (!local)
        text_ += " worker " + std::to_string(each->index);
      text_ += each->runs != 0          ? " runs fiber " + std::to_string(each->runs)
               : each->place != nullptr ? " runs no fiber"
               : !each->has_thread      ? " has no thread now"
                                        : " could not be stopped";
    }
    text_ += "\n";
  }

  void print_fiber(seen_fiber& f) {
    print_number(f);
    text_ += ": ";
    switch (f.state) {
      case seen_state::parked:
        text_ += std::string("parked: ") + f.reason;
        print_joined(f);
        break;
      case seen_state::ready:
        text_ += "ready";
        break;
      case seen_state::not_begun:
        text_ += "ready, not begun";
        break;
      case seen_state::running:
        text_ += "running";
        break;
      case seen_state::unknown:
        text_ += "not looked at: a worker could not be stopped";
        break;
    }
    text_ += "\n";
    for (std::size_t i = 0; i < f.depth; ++i) {
      text_ += "  #" + std::to_string(i) + " ";
      describe_address(text_, f.addresses()[i]);
      text_ += "\n";
    }
    if (f.depth == backtrace_depth)
      text_ += "  ...\n";
    if (text_.size() > 60'000)
      flush();
  }

  // Whom it joins; null: nobody, or it is not known.
  const seen_fiber* joined_by(const seen_fiber& f) const {
    const auto found =
        std::ranges::lower_bound(joins_, &f, {}, &std::pair<const seen_fiber*, const seen_fiber*>::first);
    const bool joins = found != joins_.end() && found->first == &f && f.state == seen_state::parked &&
                       std::strcmp(f.reason, join_reason) == 0;
    return joins ? found->second : nullptr;
  }

  void print_joined(const seen_fiber& f) {
    if (const seen_fiber* joined = joined_by(f))
      text_ += " of fiber " + std::to_string(joined->id);
  }

  void print_number(const seen_fiber& f) {
    text_ += "fiber " + (f.id != 0 ? std::to_string(f.id) : "?");
    if (f.name[0] != 0)
      text_ += std::string(" \"") + f.name + "\"";
  }

  void print_cycles() {
    std::unordered_map<const seen_fiber*, const seen_fiber*> passed;  // on the way from whom
    for (const seen_fiber* from : fibers_) {
      const seen_fiber* at = from;
      while (at != nullptr && passed.try_emplace(at, from).second)
        at = joined_by(*at);
      if (at != nullptr && passed[at] == from)
        print_cycle(at);
    }
  }

  void print_cycle(const seen_fiber* begin) {
    text_ += "cycle: ";
    const seen_fiber* at = begin;
    do {
      print_number(*at);
      text_ += " joins ";
      at = joined_by(*at);
    } while (at != begin);
    text_ += "fiber " + std::to_string(begin->id) + "\n";
  }

  void flush() {
    for (std::size_t done = 0; done < text_.size();) {
      const ssize_t count = ::write(fd_, text_.data() + done, text_.size() - done);
      if (count < 0 && errno != EINTR)
        break;
      done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    text_.clear();
  }

  const int fd_;
  const std::vector<seen_worker>& workers_;
  std::vector<seen_fiber*> fibers_;
  std::vector<seen_fiber*> by_stack_;
  std::vector<std::pair<const seen_fiber*, const seen_fiber*>> joins_;  // who joins whom
  std::string text_;
};

struct scratch_stack {
  const stack_memory memory = stack_take(default_stack_size);
  ~scratch_stack() { stack_give(memory); }
};

void dump_from(int fd, const void* frame) {
  const scratch_stack scratch;
  std::vector<seen_worker> workers;
  workers.reserve(1024);
  arena seen;
  bool whole = false;
  {
    stopped_workers held(frame);
    look_round round(workers, seen, scratch.memory);
    round.see(held);
    whole = round.whole();
  }
  report(fd, workers, seen.all()).print(whole);
}

}  // namespace

bool report_deadlock(bool (*rests)(void*) noexcept, void* argument) {
  const scratch_stack scratch;
  std::vector<seen_worker> workers;
  workers.reserve(1024);
  arena seen;
  bool whole = false;
  {
    stopped_workers held(__builtin_dwarf_cfa());
    if (!rests(argument))
      return false;
    look_round round(workers, seen, scratch.memory);
    round.see(held);
    whole = round.whole();
  }
  if (std::ranges::any_of(workers, [](const seen_worker& each) { return !each.held; }))
    return false;
  report text(STDERR_FILENO, workers, seen.all());
  if (text.all_wait_for_each_other()) {
    text.print_deadlock();
    text.print(whole);
  }
  return true;
}

}  // namespace detail

void dump(int fd) noexcept {
  const int kept = errno;
  try {
    detail::dump_from(fd, __builtin_dwarf_cfa());
  } catch (const std::exception& error) {
    const std::string_view text = "sennit: fibers cannot be dumped: there is no memory\n";
    [[maybe_unused]] const auto written = ::write(fd, text.data(), text.size());
  }
  errno = kept;
}

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

// Returns an errno.
int start_dumper() noexcept {
  ::sem_init(&dump_wanted, 0, 0);
  sigset_t all;
  sigset_t former;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &former);
  pthread_t thread;
  const int error = ::pthread_create(&thread, nullptr, dump_when_wanted, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  if (error == 0) {
    ::pthread_setname_np(thread, "sennit/dump");
    ::pthread_detach(thread);
  }
  return error;
}

}  // namespace

void dump_on_signal(int signal) {
  static constinit std::mutex one_at_a_time;
  static constinit bool started = false;
  const std::lock_guard hold(one_at_a_time);
  const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
  int error = fault || signal == detail::stopped_workers::signal ? EINVAL : 0;
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

}  // namespace sennit
