// sennit::on_readable, sennit::on_writable: cases of a select that wait for file descriptors.
// room: io
//
//   sennit::select(
//       sennit::on_readable(stream, [&] { read_more(stream); }),
//       sennit::on_receive(orders, [&](std::optional<order> o) { ... }));
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "sennit/readiness.hpp"
#include "sennit/select.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"

namespace sennit::inline v0_1 {

namespace detail {

struct source_access {
  static io_source* of(const tcp_stream& stream) noexcept { return stream.source_.get(); }
  static io_source* of(const readiness& ready) noexcept { return ready.source_.get(); }
  static io_source* of(const tcp_listener& listener) noexcept {
    return listener.listener_ ? listener.listener_->source.get() : nullptr;
  }
  // What asynchronous operations take of a listener, and make of their result.
  static listener* state_of(const tcp_listener& listener) noexcept { return listener.listener_.get(); }
  static io_source* take(tcp_stream& stream) noexcept { return stream.source_.take(); }
  static tcp_stream stream(owned_source&& connected) noexcept {
    tcp_stream made;
    made.source_ = std::move(connected);
    return made;
  }
};

// `use_` keeps the source, from the call that makes the case until a case was chosen. The case has the
// direction only while it waits. So the function of any case may read, write, close or release the stream.
class readiness_case : public select_case {
public:
  readiness_case(io_source* source, bool reads) noexcept;
  readiness_case(readiness_case&& other) noexcept
      : readiness_case(other.use_ ? other.source_ : nullptr, other.reads_) {}
  const void* object() const noexcept { return source_ != nullptr ? &side() : nullptr; }
  void look();
  bool attempt(later_wake&) noexcept { return ready_ || failed_; }
  bool watch(select_node& me);
  void leave(select_node& me) noexcept;
  void served(select_node& me) noexcept;
  bool complete(const select_node&) noexcept { return false; }  // an event came: it is looked what for
  void release_source() noexcept {
    use_.reset();
    failed_ = false;
  }

protected:
  ~readiness_case() = default;

private:
  bool is_open() const noexcept { return use_ && use_->error() == 0 && !source_->closed(); }
  io_side& side() const noexcept { return reads_ ? source_->reading : source_->writing; }
  std::uint32_t direction() const noexcept { return reads_ ? io_use::reading : io_use::writing; }
  void end_watch() noexcept;

  io_source* const source_;
  const bool reads_;
  bool shared_ = false;
  bool ready_ = false;
  bool failed_ = false;  // to be watched: the operation will say why
  std::uintptr_t events_seen_ = 0;
  std::optional<io_use> use_;
};

template <class Then>
class readiness_then : public readiness_case {
public:
  readiness_then(io_source* source, bool reads, Then then)
      : readiness_case(source, reads), then_(std::move(then)) {}
  readiness_then(readiness_then&& other) noexcept
      : readiness_case(std::move(other)), then_(std::move(other.then_)) {
    must_move_without_throwing<Then>();
  }
  void finish() { then_(); }

private:
  Then then_;
};

}  // namespace detail

/// A case that is chosen if an operation would not wait: a tcp_stream can be read, a tcp_listener has a
/// connection, or the descriptor of a readiness can be read. It calls `then()`.
///
/// The case is also chosen at the peer's end, after an error, if the object is closed, and if another fiber
/// waits for the same direction. The operation then reports that. While the select waits, other fibers
/// cannot use the object in that direction.
///
/// Only fibers may use it, with channels of their own kind of runtime. It costs a system call when the
/// select begins, and one more after each wake-up.
///
/// In a select_list, the case keeps the connection or descriptor that the object had when the case was added.
/// Remove the case before you assign another one to the object.
template <class Object, class Then>
  requires requires(const Object& from) { detail::source_access::of(from); }
auto on_readable(const Object& from, Then then) {
  return detail::made<detail::readiness_then<Then>>(detail::source_access::of(from), true, std::move(then));
}

/// A case that is chosen if a write to a tcp_stream, or to the descriptor of a readiness, would not wait.
/// Otherwise like on_readable().
template <class Object, class Then>
  requires requires(const Object& to) { detail::source_access::of(to); }
auto on_writable(const Object& to, Then then) {
  return detail::made<detail::readiness_then<Then>>(detail::source_access::of(to), false, std::move(then));
}

}  // namespace sennit::inline v0_1
