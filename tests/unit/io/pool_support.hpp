// Common parts of the tests of the offload pool: they keep its threads busy.
#pragma once

#include <atomic>

#include "sennit/offload.hpp"

namespace io_test {

// A door that threads wait at, and that the test opens.
class door {
public:
  void open() {
    open_ = true;
    open_.notify_all();
  }
  void pass() const { open_.wait(false); }

private:
  std::atomic<bool> open_{false};
};

// The pool's size, for one test.
struct pool_of {
  explicit pool_of(unsigned most) { sennit::set_offload_threads(most); }
  ~pool_of() { sennit::set_offload_threads(before); }
  const unsigned before = sennit::offload_threads();
};

}  // namespace io_test
