// Operations that an upcall pool owns, such as an asynchronous connect: what they need until their handler is
// called. If it is never called, because the runtime has ended first, the pool destroys them.
#pragma once

namespace sennit::inline v0_1::detail {

struct pool_operation {
  pool_operation() = default;
  pool_operation(const pool_operation&) = delete;
  pool_operation& operator=(const pool_operation&) = delete;
  virtual ~pool_operation() = default;

  pool_operation* next = nullptr;
  pool_operation** at = nullptr;  // the pointer to this one
};

class pool_operations {
public:
  pool_operations() = default;
  pool_operations(const pool_operations&) = delete;
  pool_operations& operator=(const pool_operations&) = delete;
  ~pool_operations() {
    while (pool_operation* const first = first_) {
      remove(*first);
      delete first;
    }
  }

  void add(pool_operation& one) noexcept {
    one.next = first_;
    one.at = &first_;
    if (first_ != nullptr)
      first_->at = &one.next;
    first_ = &one;
  }
  static void remove(pool_operation& one) noexcept {
    *one.at = one.next;
    if (one.next != nullptr)
      one.next->at = one.at;
  }

private:
  pool_operation* first_ = nullptr;
};

// What asynchronous I/O and the C API do with a pool beyond its public interface.
struct upcall_access {
  // Posts `handler`, and gives the pool an operation, which finish() takes back. Deletes it if it returns
  // false.
  template <class Pool, class Handler>
  static bool begin(Pool& pool, pool_operation* operation, Handler handler) noexcept {
    pool.keep(*operation);
    if (pool.post(handler))
      return true;
    finish(pool, operation);
    return false;
  }
  template <class Pool>
  static void finish(Pool& pool, pool_operation* operation) noexcept {
    pool.give_back(*operation);
    delete operation;
  }
  template <class Pool>
  static const auto& fibers(const Pool& pool) noexcept {
    return pool.fibers_;
  }
};

}  // namespace sennit::inline v0_1::detail
