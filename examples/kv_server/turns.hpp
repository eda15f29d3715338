// Long commands: coroutines that suspend after each portion of their work, and claims on keys.
//
// A command that may take long is a coroutine. It suspends after some 20 us, so that other commands can run.
// Until it ends, its client claims the keys that it names. A command that conflicts with a claim is tried
// again later, so every command is atomic.
//
// A command never waits for a claim while it holds one, so there are no deadlocks. The exception is a command
// that claims many keys in portions; only one of these runs at a time (`acquiring`). A session sends nothing
// while it holds a claim, so a client that does not read cannot keep keys claimed.
#pragma once

#include <algorithm>
#include <bit>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace kv {

enum class step {
  done,
  more,     // continue after other clients' commands
  compute,  // run client::job without the lock, then continue
};

// A long command. `co_yield step::more` ends a portion and invalidates views of arguments, since the session
// may move the request.
class portions {
public:
  struct promise_type {
    step next = step::more;

    portions get_return_object() { return portions(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(step wanted) noexcept {
      next = wanted;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() { throw; }
  };

  portions() = default;
  portions(portions&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  portions& operator=(portions&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~portions() { reset(); }

  explicit operator bool() const { return handle_ != nullptr; }
  step resume() {
    handle_.resume();
    return handle_.done() ? step::done : handle_.promise().next;
  }
  void reset() {
    if (handle_ != nullptr) {
      std::exchange(handle_, nullptr).destroy();
    }
  }

private:
  using handle = std::coroutine_handle<promise_type>;
  explicit portions(handle one) : handle_(one) {}

  handle handle_;
};

// The size of a portion.
class budget {
public:
  // Returns whether the portion has room for one more element of so many bytes. The first always fits.
  bool takes(std::size_t bytes = 0) {
    const bool has_room = left_ > 0;
    left_ -= static_cast<std::ptrdiff_t>(64 + bytes);
    return has_room;
  }
  // Counts an element. Returns true if the portion is over, and begins the next.
  bool spent(std::size_t bytes = 0) {
    takes(bytes);
    return left_ <= 0 && (left_ = whole, true);
  }

private:
  static constexpr std::ptrdiff_t whole = 16384;
  std::ptrdiff_t left_ = whole;
};

class claims {
public:
  bool any() const { return !held_.empty(); }
  bool block(std::uint64_t hash, bool exclusive, const class claim* own = nullptr);

  const claim* acquiring = nullptr;
  bool everything_wanted = false;  // FLUSHALL waits until all claims end: no long command may begin

private:
  friend class claim;
  std::vector<claim*> held_;
};

// The keys that one command claims. It stores hashes: two keys with one hash share a claim.
class claim {
public:
  // Registers itself, for at most `keys` keys. Throws std::bad_alloc.
  claim(claims& all, std::size_t keys)
      : all_(all),
        mask_(std::bit_ceil(keys + keys / 2 + 4) - 1),
        slots_(static_cast<std::uint64_t*>(std::calloc(mask_ + 1, sizeof(std::uint64_t)))) {
    if (slots_ == nullptr) {
      throw std::bad_alloc();
    }
    all.held_.push_back(this);
  }
  ~claim() {
    std::erase(all_.held_, this);
    if (all_.acquiring == this) {
      all_.acquiring = nullptr;
    }
    if (all_.held_.empty()) {
      all_.everything_wanted = false;
    }
  }
  claim(const claim&) = delete;
  claim& operator=(const claim&) = delete;

  void add(std::uint64_t hash, bool exclusive) {
    hash |= 2;  // no slot in use is zero
    std::uint64_t& found = slot(hash);
    found = (hash & ~std::uint64_t{1}) | (found & 1) | (exclusive ? 1 : 0);
  }
  // Returns whether a command that uses the key has to wait for this claim.
  bool blocks(std::uint64_t hash, bool exclusive) {
    const std::uint64_t found = everything ? 1 : slot(hash | 2);
    if (found == 0) {
      return false;
    }
    const bool must_wait = exclusive || wanted_ || (found & 1) != 0;
    wanted_ = wanted_ || exclusive;
    return must_wait;
  }

  std::size_t memory() const { return sizeof(*this) + (mask_ + 1) * sizeof(std::uint64_t); }
  bool everything = false;

private:
  struct free_memory {
    void operator()(void* memory) const { std::free(memory); }
  };

  // The last bit of a slot is set if the claim is exclusive.
  std::uint64_t& slot(std::uint64_t hash) const {
    std::size_t at = hash & mask_;
    while (slots_[at] != 0 && (slots_[at] | 1) != (hash | 1)) {
      at = (at + 1) & mask_;
    }
    return slots_[at];
  }

  claims& all_;
  std::size_t mask_;
  std::unique_ptr<std::uint64_t[], free_memory> slots_;
  bool wanted_ = false;  // a writer waits for it, and no reader may overtake the writer
};

inline bool claims::block(std::uint64_t hash, bool exclusive, const claim* own) {
  return std::any_of(held_.begin(), held_.end(),
                     [&](claim* each) { return each != own && each->blocks(hash, exclusive); });
}

}  // namespace kv
