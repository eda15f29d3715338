// What tests of futures share.
#pragma once

#include <gtest/gtest.h>

#include <future>

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

}  // namespace sennit
