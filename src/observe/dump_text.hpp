// The snapshot made while all workers were held, and its printed form. Function names are looked up here,
// when the workers run again.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fault/write_message.hpp"
#include "sennit/detail/observe/stop_the_world.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

struct worker_snapshot {
  const worker* at;
  const void* runtime;
  bool local;
  unsigned index;
  bool held;
  bool has_thread;
  const stopped_thread* place;
  const fiber* current;
  std::uint64_t runs;  // a fiber's id, or 0
  bool blocked;        // by that fiber
};

enum class seen_state : std::uint8_t { parked, ready, not_begun, running, blocks_thread, unknown };

// One fiber, followed by its backtrace.
struct fiber_snapshot {
  const fiber* at;
  std::size_t worker;  // its home's index in the list
  std::uint64_t id;    // 0: not known
  std::uintptr_t low, high;
  const char* reason;
  std::uintptr_t object;     // the awaited object, or 0
  int descriptor = -1;       // the awaited file descriptor, or -1
  std::uint32_t holder = 0;  // the fiber id of the awaited lock's owner, or 0
  std::int64_t waited = -1;  // nanoseconds; -1: unknown
  std::uintptr_t goes_on;    // the function with which it resumes, if it has no stack
  seen_state state;
  char name[sizeof fiber::name];
  std::size_t depth;

  std::uintptr_t* addresses() noexcept { return reinterpret_cast<std::uintptr_t*>(this + 1); }
  std::size_t bytes() const noexcept { return sizeof *this + depth * sizeof(std::uintptr_t); }
};

class report {
public:
  report(int fd, const std::vector<worker_snapshot>& workers, std::vector<fiber_snapshot*> fibers)
      : fd_(fd), workers_(workers), fibers_(std::move(fibers)) {
    std::ranges::sort(fibers_, {}, [](const fiber_snapshot* f) { return std::pair(f->id, f->at); });
    for (const fiber_snapshot* each : fibers_)
      by_address_.emplace(reinterpret_cast<std::uintptr_t>(each->at), each);
  }

  // A deadlock, as far as this can be known: there are fibers, and each is parked, or could run if no fiber
  // blocked its thread. None waits for a call on a pool thread. None belongs to a runtime that an outside
  // thread runs at times of its own choice.
  bool all_wait_for_each_other() const {
    return !fibers_.empty() && std::ranges::all_of(fibers_, [this](const fiber_snapshot* f) {
      return (waits(*f) || workers_[f->worker].blocked) && workers_[f->worker].has_thread &&
             (f->reason == nullptr || std::strcmp(f->reason, "offload") != 0);
    });
  }

  void print_deadlock() {
    text_ += "sennit: deadlock: all fibers wait, and nothing that could wake one is known to come\n";
    for (const fiber_snapshot* each : fibers_)
      if (each->state == seen_state::blocks_thread && has_others(*each)) {
        print_number(*each);
        text_ += std::string(" has its thread wait (") + each->reason +
                 " of namespace sennit), so that no other fiber of its local runtime can run: take what is "
                 "called the same in namespace sennit::local, which blocks only the fiber\n";
      }
    for (const fiber_snapshot* each : cycles())
      print_cycle(each);
  }

  bool has_cycle() const { return !cycles().empty(); }

  // `whole`: nothing was omitted for lack of memory.
  void print(bool whole) {
    text_ += "sennit: " + std::to_string(fibers_.size()) + (fibers_.size() == 1 ? " fiber\n" : " fibers\n");
    std::vector<const void*> runtimes;
    for (auto each = workers_.rbegin(); each != workers_.rend(); ++each) {  // the list has the newest first
      const void* runtime = each->runtime;
      if (std::ranges::find(runtimes, runtime) == runtimes.end())
        runtimes.push_back(runtime);
    }
    for (std::size_t i = 0; i < runtimes.size(); ++i) {
      print_runtime(i + 1, runtimes[i]);
      for (fiber_snapshot* each : fibers_)
        if (workers_[each->worker].runtime == runtimes[i])
          print_fiber(*each);
    }
    if (!whole)
      text_ += "sennit: there was no room for more\n";
    flush();
  }

private:
  static bool waits(const fiber_snapshot& f) {
    return f.state == seen_state::parked || f.state == seen_state::blocks_thread;
  }
  bool has_others(const fiber_snapshot& f) const {
    return std::ranges::any_of(
        fibers_, [&](const fiber_snapshot* each) { return each != &f && each->worker == f.worker; });
  }

  void print_runtime(std::size_t number, const void* runtime) {
    text_ += "runtime " + std::to_string(number);
    std::vector<const worker_snapshot*> its;
    for (const worker_snapshot& each : workers_)
      if (each.runtime == runtime)
        its.insert(its.begin(), &each);
    const bool local = its.front()->local;
    text_ += local ? " (local):" : ": " + std::to_string(its.size()) + " workers:";
    for (const worker_snapshot* each : its) {
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

  void print_fiber(fiber_snapshot& f) {
    print_number(f);
    text_ += ": ";
    switch (f.state) {
      case seen_state::parked:
      case seen_state::blocks_thread:
        text_ += std::string(f.state == seen_state::parked ? "parked: " : "blocks its thread: ") + f.reason;
        print_object(f);
        print_holder(f);
        print_time(f);
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
    if (f.goes_on != 0) {
      text_ += ", without a stack; resumes in ";
      describe_address(text_, f.goes_on + 1);  // describe_address expects return addresses
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

  // Returns the fiber that it joins, or null.
  const fiber_snapshot* joined_by(const fiber_snapshot& f) const {
    if (!waits(f) || std::strcmp(f.reason, join_reason) != 0)
      return nullptr;
    const auto found = by_address_.find(f.object);
    return found != by_address_.end() ? found->second : nullptr;
  }
  // Returns the owner of the lock for which it waits, or null if unknown.
  const fiber_snapshot* holder_for(const fiber_snapshot& f) const {
    const auto found = std::ranges::lower_bound(fibers_, f.holder, {}, &fiber_snapshot::id);
    return f.holder != 0 && found != fibers_.end() && (*found)->id == f.holder ? *found : nullptr;
  }
  // Returns the one fiber that must run before it can continue, or null.
  const fiber_snapshot* awaited_by(const fiber_snapshot& f) const {
    const fiber_snapshot* const joined = joined_by(f);
    return joined != nullptr ? joined : holder_for(f);
  }

  void print_object(const fiber_snapshot& f) {
    char text[64] = "";
    if (const fiber_snapshot* joined = joined_by(f))
      std::snprintf(text, sizeof text, " of fiber %" PRIu64, joined->id);
    else if (f.descriptor >= 0)
      std::snprintf(text, sizeof text, " of file descriptor %d", f.descriptor);
    else if (f.object != 0)
      std::snprintf(text, sizeof text, " at %#" PRIxPTR, f.object);
    text_ += text;
  }

  void print_holder(const fiber_snapshot& f) {
    if (f.holder == 0 || f.holder == lock_owner::no_fiber)
      return;
    text_ += " held by fiber " + std::to_string(f.holder);
    if (holder_for(f) == nullptr)
      text_ += " (not in this report: it ended without unlocking, or belongs to another runtime)";
  }

  void print_time(const fiber_snapshot& f) {
    if (f.waited < 0)
      return;
    char text[64];
    const std::int64_t milliseconds = f.waited / 1'000'000;
    std::snprintf(text, sizeof text, " for %" PRId64 ".%03d s", milliseconds / 1000,
                  static_cast<int>(milliseconds % 1000));
    text_ += text;
  }

  void print_number(const fiber_snapshot& f) {
    text_ += "fiber " + (f.id != 0 ? std::to_string(f.id) : "?");
    if (f.name[0] != 0)
      text_ += std::string(" \"") + f.name + "\"";
  }

  // Returns one fiber of each cycle.
  std::vector<const fiber_snapshot*> cycles() const {
    std::vector<const fiber_snapshot*> found;
    std::unordered_map<const fiber_snapshot*, const fiber_snapshot*> passed;  // by which fiber it was reached
    for (const fiber_snapshot* from : fibers_) {
      const fiber_snapshot* at = from;
      while (at != nullptr && passed.try_emplace(at, from).second)
        at = awaited_by(*at);
      if (at != nullptr && passed[at] == from)
        found.push_back(at);
    }
    return found;
  }

  void print_cycle(const fiber_snapshot* begin) {
    text_ += "cycle: ";
    const fiber_snapshot* at = begin;
    do {
      print_number(*at);
      if (joined_by(*at) != nullptr) {
        text_ += " joins ";
      } else {
        text_ += std::string(" waits for the ") + at->reason;
        print_object(*at);
        text_ += " held by ";
      }
      at = awaited_by(*at);
    } while (at != begin);
    text_ += "fiber " + std::to_string(begin->id) + "\n";
  }

  void flush() {
    write_message(fd_, text_);
    text_.clear();
  }

  const int fd_;
  const std::vector<worker_snapshot>& workers_;
  std::vector<fiber_snapshot*> fibers_;
  std::unordered_map<std::uintptr_t, const fiber_snapshot*> by_address_;  // of descriptors
  std::string text_;
};

}  // namespace sennit::inline v0_1::detail
