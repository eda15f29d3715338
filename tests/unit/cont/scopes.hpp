// What fibers of a scope may not do.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "support/child.hpp"
#include "support/kinds.hpp"

namespace sennit {

// `leave`, which would never return, ends the program, and names itself as `what`. Of both kinds of runtimes;
// the calling process must have no other thread: emulators start none in its child then.
template <class Leave>
void scope_refuses(Leave leave, const std::string& what) {
  const auto in = [&]<class Kind>(const Kind*) {
    const auto said = support::in_child([&] {
      Kind().run([&] {
        typename Kind::scope all;
        all.spawn(leave, {.name = "child"});
        all.join();
      });
    });
    EXPECT_TRUE(said.killed_by(SIGABRT)) << said;
    EXPECT_TRUE(said.says(what + ": fiber \"child\" is one of a scope")) << said;
  };
  in(static_cast<const local_kind*>(nullptr));
  in(static_cast<const parallel_kind*>(nullptr));
}

}  // namespace sennit
