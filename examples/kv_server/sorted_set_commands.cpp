// Commands on sorted sets.
#include <algorithm>
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
portions zadd(invocation& call) {
  if (call.arguments.size() % 2 != 0) {
    fail(syntax_error);
  }
  std::vector<double> scores;
  budget parsing;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    const auto score = parse_double(call.arguments[i]);
    if (!score) {
      fail("ERR value is not a valid float");
    }
    scores.push_back(*score + 0.0);  // turns -0 into 0
    if (parsing.spent()) {
      co_yield step::more;
    }
  }
  std::int64_t added = 0;
  for (std::size_t i = 0; i < scores.size();) {
    if (i != 0) {
      co_yield step::more;
    }
    change<sorted_set_value> set(call, call.arguments[1]);
    sorted_set_value& members = set.or_create();
    bool changed = false;
    for (budget now; i < scores.size() && now.takes(call.arguments[2 * i + 3].size()); ++i) {
      const std::string_view member = call.arguments[2 * i + 3];
      const double* old = members.score(member);
      changed = changed || old == nullptr || *old != scores[i];
      added += members.set(member, scores[i]) ? 1 : 0;
    }
    if (!changed) {
      set.unchanged();
    }
  }
  call.reply.integer(added);
}

portions zpopmin(invocation& call) {
  if (call.arguments.size() > 3) {
    fail(syntax_error);
  }
  const std::size_t wanted = call.arguments.size() == 3 ? count_argument(call, 2) : 1;
  const auto* set = read<sorted_set_value>(call, call.arguments[1]);
  const std::size_t count = set == nullptr ? 0 : std::min(wanted, set->size());
  call.reply.array(2 * count);
  return pop_many<sorted_set_value>(call, count, [](reply_writer& reply, sorted_set_value& from) {
    reply.bulk(from.begin()->second);
    reply.bulk(score_text(from.begin()->first));
    from.drop_one();
  });
}

}  // namespace kv::handlers
