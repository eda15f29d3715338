// Commands that change sorted sets: ZADD ZINCRBY ZREM ZPOPMIN ZPOPMAX; and those that ask for one member.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

struct add_options {
  bool nx = false, xx = false, gt = false, lt = false, changed = false, increment = false;
};

// The options of ZADD; moves `at` to the first score.
add_options parse_options(const invocation& call, std::size_t& at) {
  add_options options;
  struct option {
    std::string_view name;
    bool add_options::* is_set;
  };
  static constexpr option all[] = {{"nx", &add_options::nx},      {"xx", &add_options::xx},
                                   {"gt", &add_options::gt},      {"lt", &add_options::lt},
                                   {"ch", &add_options::changed}, {"incr", &add_options::increment}};
  for (; at < call.arguments.size(); ++at) {
    const auto* found = std::find_if(std::begin(all), std::end(all), [&](const option& each) {
      return equals_ignoring_case(call.arguments[at], each.name);
    });
    if (found == std::end(all)) {
      break;
    }
    options.*found->is_set = true;
  }
  return options;
}

void check_options(const add_options& options, std::size_t left) {
  if (left == 0 || left % 2 != 0) {
    fail(syntax_error);
  }
  if (options.nx && options.xx) {
    fail("ERR XX and NX options at the same time are not compatible");
  }
  if ((options.gt && options.nx) || (options.lt && options.nx) || (options.gt && options.lt)) {
    fail("ERR GT, LT, and/or NX options at the same time are not compatible");
  }
  if (options.increment && left > 2) {
    fail("ERR INCR option supports a single increment-element pair");
  }
}

struct add_counts {
  std::int64_t added = 0, updated = 0;
  std::optional<double> last;  // the score of the last member, if the options let it be set
};

void add_member(sorted_set_value& to, std::string_view member, double score, const add_options& options,
                add_counts& counts) {
  const double* old = to.score(member);
  counts.last = std::nullopt;
  if (old == nullptr) {
    if (!options.xx) {
      to.set(member, score);
      ++counts.added;
      counts.last = score;
    }
    return;
  }
  const double wanted = options.increment ? *old + score : score;
  if (options.nx) {
    return;
  }
  if ((options.gt && wanted <= *old) || (options.lt && wanted >= *old)) {
    return;
  }
  counts.last = wanted;
  if (wanted != *old) {
    to.set(member, wanted);
    ++counts.updated;
  }
}

double score_argument(const invocation& call, std::size_t index) {
  const auto score = parse_double(call.arguments[index]);
  if (!score) {
    fail(not_a_float);
  }
  return *score + 0.0;  // no -0
}

// An increment comes alone: nothing has been changed before it fails.
void check_increment(change<sorted_set_value>& set, std::string_view member, double score) {
  const double* old = set ? set->score(member) : nullptr;
  if (old != nullptr && std::isnan(*old + score)) {
    set.unchanged();
    fail("ERR resulting score is not a number (NaN)");
  }
}

add_counts add_all(invocation& call, std::size_t first, const add_options& options) {
  std::vector<double> scores;
  for (std::size_t i = first; i < call.arguments.size(); i += 2) {
    scores.push_back(score_argument(call, i));
  }
  change<sorted_set_value> set(call, call.arguments[1]);
  add_counts counts;
  if (!set && options.xx) {
    return counts;
  }
  if (options.increment && !options.nx) {
    check_increment(set, call.arguments[first + 1], scores[0]);
  }
  sorted_set_value& members = set.or_create();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    add_member(members, call.arguments[first + 2 * i + 1], scores[i], options, counts);
  }
  if (counts.added + counts.updated == 0) {
    set.unchanged();
  }
  return counts;
}

void reply_score(reply_writer& reply, std::optional<double> score) {
  if (score) {
    reply.bulk(score_text(*score));
  } else {
    reply.null();
  }
}

void pop(invocation& call, bool smallest) {
  if (call.arguments.size() > 3) {
    fail(syntax_error);
  }
  const std::size_t wanted = call.arguments.size() == 3 ? count_argument(call, 2) : 1;
  change<sorted_set_value> set(call, call.arguments[1]);
  const std::size_t count = set ? std::min(wanted, set->size()) : 0;
  call.reply.array(2 * count);
  if (count == 0) {
    set.unchanged();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t rank = smallest ? 0 : set->size() - 1;
    const auto found = set->at(rank);
    call.reply.bulk(found->second);
    call.reply.bulk(score_text(found->first));
    set->erase(rank);
  }
}

void reply_rank(invocation& call, bool from_smallest) {
  const auto* set = read<sorted_set_value>(call, call.arguments[1]);
  const double* score = set == nullptr ? nullptr : set->score(call.arguments[2]);
  if (score == nullptr) {
    call.reply.null();
    return;
  }
  const std::size_t rank = set->rank(call.arguments[2], *score);
  call.reply.integer(static_cast<std::int64_t>(from_smallest ? rank : set->size() - 1 - rank));
}

}  // namespace

void zadd(invocation& call) {
  std::size_t first = 2;
  const add_options options = parse_options(call, first);
  check_options(options, call.arguments.size() - first);
  const add_counts counts = add_all(call, first, options);
  if (options.increment) {
    reply_score(call.reply, counts.last);
  } else {
    call.reply.integer(counts.added + (options.changed ? counts.updated : 0));
  }
}

void zincrby(invocation& call) {
  add_options options;
  options.increment = true;
  reply_score(call.reply, add_all(call, 2, options).last);
}

void zrem(invocation& call) {
  erase_members<sorted_set_value>(call);
}

void zpopmin(invocation& call) {
  pop(call, true);
}

void zpopmax(invocation& call) {
  pop(call, false);
}

void zcard(invocation& call) {
  const auto* set = read<sorted_set_value>(call, call.arguments[1]);
  call.reply.integer(set == nullptr ? 0 : static_cast<std::int64_t>(set->size()));
}

void zscore(invocation& call) {
  const auto* set = read<sorted_set_value>(call, call.arguments[1]);
  const double* score = set == nullptr ? nullptr : set->score(call.arguments[2]);
  reply_score(call.reply, score == nullptr ? std::nullopt : std::optional(*score));
}

void zmscore(invocation& call) {
  const auto* set = read<sorted_set_value>(call, call.arguments[1]);
  call.reply.array(call.arguments.size() - 2);
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    const double* score = set == nullptr ? nullptr : set->score(call.arguments[i]);
    reply_score(call.reply, score == nullptr ? std::nullopt : std::optional(*score));
  }
}

void zrank(invocation& call) {
  reply_rank(call, true);
}

void zrevrank(invocation& call) {
  reply_rank(call, false);
}

}  // namespace kv::handlers
