// What the bytes of an input mean to the target `commands`: which command, which keys, which words. Kept
// cases depend on it: lists here are only ever added to, at their ends.
#pragma once

#include "commands.hpp"
#include "harness.hpp"
#include "model.hpp"

namespace kv::fuzz {

// One step of an input: a command, or something that happens to the server.
enum class event {
  command,
  time_passes,
  keys_expire,
  other_client,
  client_leaves,
  client_stream_ends,
  wait_is_over,
  scan_goes_on,
  everything_flushed,
};

struct step {
  event what = event::command;
  std::uint8_t number = 0;       // which client, how much time, how many keys
  std::size_t piece = SIZE_MAX;  // of the command's bytes, at a time
  words arguments = {};          // the first is the command's name
};

step read_step(reader& input);

// In milliseconds.
std::int64_t step_of_time(std::uint8_t number);

// Fails, and says what to do, if there is a command that inputs cannot name.
void check_command_names();

}  // namespace kv::fuzz
