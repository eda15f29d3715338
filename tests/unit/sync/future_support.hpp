// Common parts of the tests of futures.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "sennit/future.hpp"

namespace sennit {

template <class Function>
void expect_future_error(std::future_errc code, Function function) {
  try {
    function();
    ADD_FAILURE() << "no error";
  } catch (const std::future_error& error) {
    EXPECT_EQ(error.code(), code);
  }
}

inline future<void> note_thread(future<void> when, std::thread::id& resumed_on) {
  co_await when;
  resumed_on = std::this_thread::get_id();
}

}  // namespace sennit
