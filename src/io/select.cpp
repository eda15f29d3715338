// How a select waits for file descriptors.
#include "sennit/select_io.hpp"

#include <poll.h>

#include "attempt.hpp"

namespace sennit::inline v0_1::detail {

readiness_case::readiness_case(io_source* source, bool reads) noexcept : source_(source), reads_(reads) {
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

namespace {

// Whether another case of the select waits for the same side. After an event all cases look again.
bool waits_beside(const select_node& me) noexcept {
  for (const multi_wait_node* each = me.beside; each != nullptr && each != &me; each = each->beside)
    if (const auto& other = static_cast<const select_node&>(*each);
        other.object == me.object && other.watches)
      return true;
  return false;
}

}  // namespace

bool readiness_case::watch(select_node& me) {
  driver& driver = *this_worker()->driver;
  shared_ = io_is_shared();
  if (source_->uses.begin(direction(), shared_) != 0) {
    failed_ = !waits_beside(me);
    return !failed_;
  }
  if (source_->driver.load(std::memory_order_relaxed) != driver.id())
    failed_ = driver.watch(*source_) != 0;
  side().last_seen_event = events_seen_;
  me.watches = !failed_ && source_enter(side(), me);
  if (!me.watches)
    end_watch();
  return me.watches;
}

void readiness_case::leave(select_node& me) noexcept {
  if (!me.watches)
    return;
  if (!source_leave(side(), me))
    wait_for_release(me);
  served(me);
}

void readiness_case::served(select_node& me) noexcept {
  me.watches = false;
  end_watch();
}

void readiness_case::end_watch() noexcept {
  const io_use ends(io_use::going_on{}, *source_, direction(), shared_);
}

}  // namespace sennit::inline v0_1::detail
