// A port whose requests and replies are bytes, as many as its maker says at run time. Otherwise it is
// basic_port: a call, its places and its end are those of port_calls.
//
// The caller's record has the addresses of its request and of the place for the reply. The server copies the
// request when it takes the call, under the lock, and the reply is copied when it is answered, likewise. So
// a caller that gives up takes its memory with it, and nothing refers to that any more.
//
// A received call is an object of the port: a server that forgets it refers to nothing that is gone. Calls
// that were answered are kept for the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "byte_channel.hpp"
#include "sennit/detail/rpc/port_calls.hpp"

namespace sennit::inline v0_1::capi {

template <class Policy>
struct byte_request;
struct byte_reply {
  int code;
  const void* bytes;
};
template <class Policy>
using byte_calls = detail::port_calls<byte_request<Policy>, byte_reply, Policy>;

template <class Policy>
class byte_port;

// What C has of a received call; the two kinds of ports derive from it.
}  // namespace sennit::inline v0_1::capi

struct sennit_call {
  bool shared;
};

namespace sennit::inline v0_1::capi {

template <class Policy>
struct byte_request {
  template <class Record, class Incoming>
  static void handed(Record& record, Incoming& into) noexcept {
    auto& call = static_cast<typename byte_port<Policy>::record&>(record);
    auto& taken = static_cast<typename byte_port<Policy>::call&>(into);
    copy_bytes(taken.request(), call.request, taken.port->request_size());
  }
  template <class Record>
  static void answered(Record& record) noexcept {
    auto& call = static_cast<typename byte_port<Policy>::record&>(record);
    if (call.at.phase() == detail::call_phase::replied && call.at.reply().code == 0)
      copy_bytes(call.reply, call.at.reply().bytes, call.reply_size);
  }
};

template <class Policy>
class byte_port : public byte_calls<Policy> {
  using calls = byte_calls<Policy>;
  using phase = detail::call_phase;

public:
  using policy = Policy;
  using typename calls::incoming;
  static constexpr bool is_shared = Policy::is_shared;

  struct record : calls::record {
    record(byte_port& of, const void* asks, void* answer) noexcept
        : calls::record(of, phase::asked, byte_request<Policy>()),
          request(asks),
          reply(answer),
          reply_size(of.reply_size_) {}
    int result() const noexcept {
      auto& ended = const_cast<record&>(*this).at;
      switch (ended.phase()) {
        case phase::replied:
          return ended.reply().code;
        case phase::closed:
          return -EPIPE;
        case phase::abandoned:
          return -ECONNRESET;
        default:
          return -ETIMEDOUT;
      }
    }
    const void* request;
    void* reply;
    std::size_t reply_size;
  };

  // The request and the reply lie behind it.
  struct alignas(16) call : sennit_call, incoming {
    explicit call(byte_port& of) noexcept
        : sennit_call{is_shared}, incoming(of.nothing_yet()), port(&of), all_next(nullptr) {}
    std::byte* request() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    std::byte* reply_place() noexcept { return request() + padded(port->request_size_); }
    byte_port* port;
    call* next = nullptr;  // while it is kept
    call* all_next;
  };

  static constexpr bool over_aligned = alignof(call) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  byte_port(std::size_t request_size, std::size_t reply_size) noexcept
      : request_size_(request_size), reply_size_(reply_size) {}
  ~byte_port() {
    while (all_ != nullptr) {
      call* const last = std::exchange(all_, all_->all_next);
      last->~call();
      if constexpr (over_aligned)
        ::operator delete(last, std::align_val_t{alignof(call)});
      else
        ::operator delete(last);
    }
  }
  std::size_t request_size() const noexcept { return request_size_; }
  std::size_t reply_size() const noexcept { return reply_size_; }
  std::size_t most_size() const noexcept { return request_size_ > reply_size_ ? request_size_ : reply_size_; }

  // The functions that wait are inlined into those that C calls: each return after a switch costs as much as
  // the switch.
  SENNIT_INLINE int ask(const void* request, void* reply, detail::time_point deadline) {
    record mine(*this, request, reply);
    this->transact(mine, deadline);
    return mine.result();
  }

  // The part of ask() before the switch, by a fiber of the port's local runtime. Returns where to enter the
  // next fiber, as prepare_block() does, or `not_begun`: nothing has happened. The record lies in `room`.
  static constexpr sennit_decision not_begun{nullptr, 1};
  SENNIT_INLINE sennit_decision begin_ask(detail::worker& w, const void* request, void* reply, void* room)
    requires(!is_shared)
  {
    detail::stack_should_be_whole(*w.ready.current);
    auto& mine = *::new (room) record(*this, request, reply);
    detail::fiber* woken = nullptr;
    if (!this->begin_transact(mine, *w.ready.current, woken)) [[unlikely]] {
      mine.~record();
      return not_begun;
    }
    const detail::wait_reason why("port call", this);
    return woken != nullptr ? detail::prepare_block_waking(w, detail::fiber_status::waiting, why, *woken)
                            : detail::prepare_block(w, detail::fiber_status::waiting, why);
  }

  // Throws std::bad_alloc.
  call& take_kept() {
    {
      const pool_lock hold(kept_lock_);
      if (kept_ != nullptr)
        return *std::exchange(kept_, kept_->next);
    }
    const std::size_t bytes = sizeof(call) + padded(request_size_) + padded(reply_size_);
    void* memory;
    if constexpr (over_aligned)
      memory = ::operator new(bytes, std::align_val_t{alignof(call)});
    else
      memory = ::operator new(bytes);
    call* const made = ::new (memory) call(*this);
    const pool_lock hold(kept_lock_);
    made->all_next = std::exchange(all_, made);
    return *made;
  }
  // It has no request any more, or that is dropped.
  void keep(call& ended) noexcept {
    if (ended)
      static_cast<incoming&>(ended) = this->nothing_yet();
    const pool_lock hold(kept_lock_);
    ended.next = std::exchange(kept_, &ended);
  }

  // Null: the port is closed, or the deadline has passed.
  SENNIT_INLINE call* receive(detail::time_point deadline) {
    struct keeping {
      ~keeping() {
        if (mine != nullptr)
          port.keep(*mine);
      }
      byte_port& port;
      call* mine;
    } taken{*this, &take_kept()};
    this->receive_by(*taken.mine, deadline);
    return *taken.mine ? std::exchange(taken.mine, nullptr) : nullptr;
  }
  // The call is answered, and is the next one; or it is kept. Returns false: the port is closed.
  SENNIT_INLINE bool reply_and_receive(call& served, const void* reply) {
    struct keeping {
      ~keeping() {
        if (!done)
          port.keep(served);
      }
      byte_port& port;
      call& served;
      bool done = false;
    } taken{*this, served};
    return taken.done = this->answer_and_receive(served, byte_reply{0, reply}, detail::any_size);
  }
  // Returns false if the caller has given up.
  bool answer(call& received, int code, const void* reply) noexcept {
    const bool wanted = received.reply(byte_reply{code, reply});
    keep(received);
    return wanted;
  }

  template <class Handler>
  SENNIT_INLINE void serve(Handler handler) {
    typename calls::service here(*this, detail::any_size);
    call* next = receive(detail::never);
    while (next != nullptr) {
      struct dropped {
        ~dropped() {
          if (left != nullptr)
            port.keep(*left);
        }
        byte_port& port;
        call* left;
      } held{*this, next};
      const int code = handler(static_cast<void*>(next->request()), static_cast<void*>(next->reply_place()));
      held.left = nullptr;
      if (code == 0) {
        if (!reply_and_receive(*next, next->reply_place()))
          return;
      } else {
        answer(*next, code, nullptr);
        next = receive(detail::never);
      }
    }
  }

  // ---- Without a stack.

  struct call_wait {
    static constexpr const char* reason = "port call";
    explicit call_wait(byte_port& at) noexcept : port(&at) {}
    bool file(detail::fiber& f, detail::waiter& me, void* value, int& result) noexcept {
      Policy::prepare(f, reason);
      auto& mine = *::new (static_cast<void*>(place)) record(*port, value, value);
      if (calls::template file_call<true>(mine, me, f) != nullptr)
        return true;
      result = mine.result();
      return false;
    }
    bool leave(detail::waiter& me) noexcept { return calls::leave_call(filed(), me); }
    // It has ended, so that nothing refers to the record, wherever it lies now.
    int result_of(std::uintptr_t) noexcept { return filed().result(); }
    static bool brings(int result) noexcept { return result == 0; }
    record& filed() noexcept { return *std::launder(reinterpret_cast<record*>(place)); }
    byte_port* port;
    alignas(record) std::byte place[sizeof(record)];
  };

  class receive_wait {
  public:
    static constexpr const char* reason = calls::receive_reason;
    explicit receive_wait(byte_port& at) : mine_(&at.take_kept()) {}
    receive_wait(receive_wait&& other) noexcept : mine_(std::exchange(other.mine_, nullptr)) {}
    SENNIT_INLINE ~receive_wait() {
      if (mine_ != nullptr) [[unlikely]]
        drop();
    }
    bool file(detail::fiber& f, detail::waiter& me, void*, int& result) noexcept {
      Policy::prepare(f, reason);
      if (calls::file_receive(*mine_, me, f) != nullptr)
        return true;
      result = result_of(0);
      return false;
    }
    bool leave(detail::waiter& me) noexcept { return calls::leave_receive(*mine_, me); }
    int result_of(std::uintptr_t) noexcept { return *mine_ ? 0 : -EPIPE; }
    // It is the function's from now on.
    void* take_value() noexcept {
      return *mine_ ? static_cast<sennit_call*>(std::exchange(mine_, nullptr)) : nullptr;
    }

  private:
    [[gnu::noinline]] void drop() noexcept { mine_->port->keep(*mine_); }
    call* mine_;
  };

private:
  class pool_lock {
  public:
    explicit pool_lock(typename Policy::lock& of) noexcept : of_(of) { of_.lock(); }
    pool_lock(const pool_lock&) = delete;
    pool_lock& operator=(const pool_lock&) = delete;
    ~pool_lock() { of_.unlock(); }

  private:
    typename Policy::lock& of_;
  };
  static constexpr std::size_t padded(std::size_t size) noexcept { return (size + 15) & ~std::size_t{15}; }

  std::size_t request_size_;
  std::size_t reply_size_;
  [[no_unique_address]] typename Policy::lock kept_lock_;
  call* kept_ = nullptr;
  call* all_ = nullptr;
};

}  // namespace sennit::inline v0_1::capi
