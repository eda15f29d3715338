// Commands on sorted sets: ZADD ZCARD ZPOPMIN ZSCORE.
#include <algorithm>
#include <vector>

#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

// ZADD key score member [score member ...], without options.
void zadd(invocation& call) {
  if (call.arguments.size() % 2 != 0) {
    fail(syntax_error);
  }
  std::vector<double> scores;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    const auto score = parse_double(call.arguments[i]);
    if (!score) {
      fail(not_a_float);
    }
    scores.push_back(*score + 0.0);  // turns -0 into 0
  }
  change<sorted_set_value> set(call, call.arguments[1]);
  sorted_set_value& members = set.or_create();
  std::int64_t added = 0;
  bool changed = false;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string_view member = call.arguments[2 * i + 3];
    const double* old = members.score(member);
    changed = changed || old == nullptr || *old != scores[i];
    added += members.set(member, scores[i]) ? 1 : 0;
  }
  if (!changed) {
    set.unchanged();
  }
  call.reply.integer(added);
}

void zcard(invocation& call) {
  reply_size<sorted_set_value>(call);
}

void zpopmin(invocation& call) {
  if (call.arguments.size() > 3) {
    fail(syntax_error);
  }
  const std::size_t wanted = call.arguments.size() == 3 ? count_argument(call, 2) : 1;
  change<sorted_set_value> set(call, call.arguments[1]);
  const std::size_t count = set ? std::min(wanted, set->size()) : 0;
  if (count > most_at_once) {
    set.unchanged();
    check_at_once(count);
  }
  if (count == 0) {
    set.unchanged();
  }
  call.reply.array(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = set->at(0);
    call.reply.bulk(first->second);
    call.reply.bulk(score_text(first->first));
    set->erase_first();
  }
}

void zscore(invocation& call) {
  const auto* set = read<sorted_set_value>(call, call.arguments[1]);
  const double* score = set == nullptr ? nullptr : set->score(call.arguments[2]);
  if (score == nullptr) {
    call.reply.null();
  } else {
    call.reply.bulk(score_text(*score));
  }
}

}  // namespace kv::handlers
