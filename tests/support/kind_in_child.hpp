// Runtimes of some kind in a child process.
#pragma once

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "support/child.hpp"
#include "support/kinds.hpp"

namespace support {

// Runs a function, which makes such a runtime, in a child process. Where a child cannot have its threads, the
// calling test skips itself.
template <class Kind, class Function>
outcome in_child_with(Function&& function) {
#if defined(SUPPORT_EMULATED)
  if (std::is_same_v<Kind, sennit::parallel_kind>) {
    constexpr const char* why = "qemu-user starts no thread in a child of a process that has several";
    [&] { GTEST_SKIP() << why; }();
    throw testing::AssertionException(
        testing::TestPartResult(testing::TestPartResult::kSkip, __FILE__, __LINE__, why));
  }
#endif
  return in_child(std::forward<Function>(function));
}

// Runs a function in such a runtime.
template <class Kind, class Function>
outcome run_in_child(Function&& function) {
  return in_child_with<Kind>([&] { Kind().run(std::forward<Function>(function)); });
}

}  // namespace support
