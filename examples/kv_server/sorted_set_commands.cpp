// Commands on sorted sets.
#include <cmath>
#include <cstdio>
#include <vector>

#include "commands.hpp"

namespace kv::handlers {

namespace {

// As replies show it, with 17 digits.
std::string score_text(double number) {
  if (std::isinf(number)) {
    return number > 0 ? "inf" : "-inf";
  }
  char text[40];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.17g", number))};
}

}  // namespace

// ZADD key score member [score member ...], without options.
void zadd(invocation& call) {
  if (call.arguments.size() % 2 != 0) {
    fail(syntax_error);
  }
  std::vector<double> scores;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    const auto score = parse_double(call.arguments[i]);
    if (!score) {
      fail("ERR value is not a valid float");
    }
    scores.push_back(*score + 0.0);  // turns -0 into 0
  }
  change<sorted_set_value> set(call.server.keys, call.arguments[1]);
  sorted_set_value& members = set.or_create();
  std::int64_t added = 0;
  bool changed = false;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto placed = members.set(call.arguments[2 * i + 3], scores[i]);
    changed = changed || placed != sorted_set_value::placed::already;
    added += placed == sorted_set_value::placed::added ? 1 : 0;
  }
  if (!changed) {
    set.unchanged();
  }
  call.reply.integer(added);
}

void zpopmin(invocation& call) {
  change<sorted_set_value> set(call.server.keys, call.arguments[1]);
  if (!set) {
    call.reply.array(0);
    return;
  }
  call.reply.bulks({set->begin()->second, score_text(set->begin()->first)});
  set->drop_first();
}

}  // namespace kv::handlers
