// A driver whose events come from the test. While fake_drivers lives, every worker that is made gets one.
//
//   support::fake_drivers fake;
//   sennit::local::runtime rt;          // ... a fiber of it waits until descriptor 7 is readable
//   fake.event(7, &io_source::reading);  // it is
#pragma once

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "sennit/detail/io/source.hpp"
#include "sennit/detail/sched/driver.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace support {

using sennit::detail::io_side;
using sennit::detail::io_source;
using sennit::detail::time_point;

// All drivers of a test share it. Any thread may call its functions.
class fake_drivers {
public:
  fake_drivers() : former_(std::exchange(sennit::detail::make_driver, make)) { present() = this; }
  ~fake_drivers() {
    sennit::detail::make_driver = former_;
    present() = nullptr;
  }
  fake_drivers(const fake_drivers&) = delete;
  fake_drivers& operator=(const fake_drivers&) = delete;

  // A watched descriptor is ready on one side. Returns false if no driver watches it.
  bool event(int descriptor, io_side io_source::* side) {
    const std::lock_guard hold(lock_);
    const auto found = watched_.find(descriptor);
    if (found == watched_.end())
      return false;
    found->second.at->events.emplace_back(found->second.source, side);
    changed_.notify_all();
    return true;
  }
  // The next registration fails with this errno.
  void refuse_next(int error) {
    const std::lock_guard hold(lock_);
    refusals_.push_back(error);
  }

  bool watches(int descriptor) {
    const std::lock_guard hold(lock_);
    return watched_.contains(descriptor);
  }
  std::size_t watched() {
    const std::lock_guard hold(lock_);
    return watched_.size();
  }
  // The deadlines of all waits that were no polls, in their order.
  std::vector<time_point> deadlines() {
    const std::lock_guard hold(lock_);
    return deadlines_;
  }
  unsigned made() { return count(made_); }
  unsigned asleep() { return count(asleep_); }  // drivers in a wait that is no poll
  unsigned wakes() { return count(wakes_); }
  unsigned registrations() { return count(registrations_); }
  unsigned unwatches() { return count(unwatches_); }

private:
  class one final : public sennit::detail::driver {
  public:
    one(fake_drivers& all, sennit_worker& owner) : all_(all), owner_(owner) {}
    ~one() override {
      const std::lock_guard hold(all_.lock_);
      std::erase_if(all_.watched_, [this](const auto& each) { return each.second.at == this; });
    }

    bool wait(time_point deadline) noexcept override {
      std::unique_lock hold(all_.lock_);
      const auto due = [this] { return woken_ || !events.empty(); };
      if (deadline > sennit::detail::clock::now()) {
        all_.deadlines_.push_back(deadline);
        ++all_.asleep_;
        if (deadline == sennit::detail::never)
          all_.changed_.wait(hold, due);
        else
          all_.changed_.wait_until(hold, deadline, due);
        --all_.asleep_;
      }
      const bool woken = std::exchange(woken_, false);
      return notify_sources(hold) || woken;
    }
    void serve() noexcept override {
      std::unique_lock hold(all_.lock_);
      notify_sources(hold);
    }
    void wake() noexcept override {
      const std::lock_guard hold(all_.lock_);
      ++all_.wakes_;
      woken_ = true;
      all_.changed_.notify_all();
    }
    void arm(time_point) noexcept override {}

    int watch(io_source& source) noexcept override {
      int error = 0;
      {
        const std::lock_guard hold(all_.lock_);
        const std::lock_guard registering(source.registering);
        const auto found = all_.watched_.find(source.descriptor);
        const bool known = found != all_.watched_.end() && found->second.source == &source;
        if (known || source.closed())
          return 0;
        if (!all_.refusals_.empty()) {
          error = all_.refusals_.front();
          all_.refusals_.pop_front();
        }
        source.driver.store(error == 0 ? id() : 0, std::memory_order_release);
        if (error == 0) {
          all_.watched_.insert_or_assign(source.descriptor, entry{this, &source});
          count_watched(*this);
          ++all_.registrations_;
        }
      }
      if (error != 0) {
        source_notify(source.reading, !owner_.is_local());
        source_notify(source.writing, !owner_.is_local());
      }
      return -error;
    }
    int watch_again(io_source& source) noexcept override { return watch(source); }
    void unwatch(io_source& source, bool) noexcept override {
      const std::lock_guard hold(all_.lock_);
      const std::lock_guard registering(source.registering);
      source.driver.store(0, std::memory_order_relaxed);
      const auto found = all_.watched_.find(source.descriptor);
      if (found == all_.watched_.end() || found->second.source != &source)
        return;
      count_unwatched(*found->second.at);
      ++all_.unwatches_;
      all_.watched_.erase(found);
    }

    std::deque<std::pair<io_source*, io_side io_source::*>> events;

  private:
    // Unlocks: a fiber that gets its event may begin to run at once.
    bool notify_sources(std::unique_lock<std::mutex>& hold) noexcept {
      const auto came = std::exchange(events, {});
      hold.unlock();
      for (const auto& [source, side] : came)
        if (source->driver.load(std::memory_order_acquire) == id())
          source_notify(source->*side, !owner_.is_local());
      return !came.empty();
    }

    fake_drivers& all_;
    sennit_worker& owner_;
    bool woken_ = false;
  };
  struct entry {
    one* at;
    io_source* source;
  };

  static fake_drivers*& present() {
    static fake_drivers* now = nullptr;
    return now;
  }
  static sennit::detail::owner<sennit::detail::driver> make(sennit_worker& owner) {
    const std::lock_guard hold(present()->lock_);
    ++present()->made_;
    return sennit::detail::owner<sennit::detail::driver>(new one(*present(), owner));
  }
  unsigned count(const unsigned& what) {
    const std::lock_guard hold(lock_);
    return what;
  }

  const sennit::detail::driver_factory former_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::map<int, entry> watched_;  // by descriptor
  std::deque<int> refusals_;
  std::vector<time_point> deadlines_;
  unsigned made_ = 0, asleep_ = 0, wakes_ = 0, registrations_ = 0, unwatches_ = 0;
};

}  // namespace support
