// How a select waits for file descriptors.
#include "sennit/select_io.hpp"

#include <poll.h>

#include "attempt.hpp"

namespace sennit::inline v0_1::detail {

readiness_case::readiness_case(io_source* source, bool reads) noexcept
    : select_case(source == nullptr ? nullptr
                  : reads           ? &source->reading
                                    : &source->writing),
      source_(source),
      reads_(reads) {
  if (source != nullptr)
    use_.emplace(*source, io_use::other, io_is_shared());
}

void readiness_case::look() {
  if (!use_ && source_ != nullptr)  // a case that is selected again
    use_.emplace(*source_, io_use::other, io_is_shared());
  ready_ = !is_open();
  if (ready_)
    return;
  events_seen_ = side().look();
  pollfd wanted{source_->descriptor.load(std::memory_order_relaxed),
                static_cast<short>(reads_ ? POLLIN : POLLOUT), 0};
  const int kept = errno;
  ready_ = ::poll(&wanted, 1, 0) > 0;
  errno = kept;
}

bool readiness_case::watch() {
  driver& driver = *this_worker()->driver;
  shared_ = io_is_shared();
  if (source_->uses.begin(direction(), shared_) != 0) {
    failed_ = !waits_beside();
    return !failed_;
  }
  if (source_->driver.load(std::memory_order_relaxed) != driver.id())
    failed_ = driver.watch(*source_) != 0;
  side().last_seen_event = events_seen_;
  entered_ = !failed_ && source_enter(side(), *this);
  if (!entered_)
    end_watch();
  return entered_;
}

// Whether another case of the select waits for the same side. After an event all cases look again.
bool readiness_case::waits_beside() const noexcept {
  for (const multi_wait_node* each = beside; each != nullptr && each != this; each = each->beside)
    if (static_cast<const readiness_case*>(each)->entered_)
      return true;
  return false;
}

void readiness_case::leave() noexcept {
  if (!entered_)
    return;
  if (!source_leave(side(), *this))
    wait_for_release(*this);
  served();
}

void readiness_case::served() noexcept {
  entered_ = false;
  end_watch();
}

void readiness_case::end_watch() noexcept {
  const io_use ends(io_use::going_on{}, *source_, direction(), shared_);
}

}  // namespace sennit::inline v0_1::detail
