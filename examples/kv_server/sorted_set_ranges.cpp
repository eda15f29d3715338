// Commands on ranges of sorted sets: ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZCOUNT and the
// ZREMRANGEs.
//
// Every range is first turned into ranks: the tree finds the rank of a score as fast as a score.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

// One end of a range of scores: "5", "(5", "-inf".
struct score_bound {
  double score;
  bool excluded;
};

// One end of a range of names: "[a", "(a"; "-" and "+": before and after all.
struct name_bound {
  std::string_view name;
  bool excluded;
  int infinite;  // -1: "-", 1: "+"
};

std::optional<score_bound> parse_score_bound(std::string_view text) {
  const bool excluded = !text.empty() && text[0] == '(';
  const std::string number(excluded ? text.substr(1) : text);
  char* end = nullptr;
  const double score = std::strtod(number.c_str(), &end);  // as careless as Redis: "" is 0
  return *end == '\0' && !std::isnan(score) ? std::optional(score_bound{score, excluded}) : std::nullopt;
}

std::optional<name_bound> parse_name_bound(std::string_view text) {
  if (text == "-" || text == "+") {
    return name_bound{{}, false, text == "-" ? -1 : 1};
  }
  if (text.empty() || (text[0] != '[' && text[0] != '(')) {
    return std::nullopt;
  }
  return name_bound{text.substr(1), text[0] == '(', 0};
}

// How many members come before the first that `is_before` denies; it holds for a beginning of the set.
template <class Predicate>
std::size_t count_before(const sorted_set_value& set, Predicate is_before) {
  std::size_t first = 0, last = set.size();
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    if (is_before(*set.at(middle))) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

using position = sorted_set_value::position;

// The ranks from `first` to before `last`.
struct ranks {
  std::size_t first, last;

  std::size_t count() const { return last > first ? last - first : 0; }
};

ranks between(const sorted_set_value& set, const score_bound& low, const score_bound& high) {
  return {count_before(set,
                       [&](const position& one) {
                         return low.excluded ? one.first <= low.score : one.first < low.score;
                       }),
          count_before(set, [&](const position& one) {
            return high.excluded ? one.first < high.score : one.first <= high.score;
          })};
}

bool is_before(const position& one, const name_bound& bound, bool with_equal) {
  return bound.infinite != 0 ? bound.infinite > 0
                             : one.second < bound.name || (with_equal && one.second == bound.name);
}

ranks between(const sorted_set_value& set, const name_bound& low, const name_bound& high) {
  return {count_before(set, [&](const position& one) { return is_before(one, low, low.excluded); }),
          count_before(set, [&](const position& one) { return is_before(one, high, !high.excluded); })};
}

enum class by { rank, score, name };

struct range_query {
  by what = by::rank;
  bool reverse = false;
  bool with_scores = false;
  bool limited = false;
  std::int64_t offset = 0, limit = -1;
};

// What follows "key min max". ZRANGE takes all of it, its older kin only what fits their kind.
void parse_options(const invocation& call, range_query& query, bool all) {
  for (std::size_t i = 4; i < call.arguments.size(); ++i) {
    const std::string_view word = call.arguments[i];
    if (equals_ignoring_case(word, "withscores")) {
      query.with_scores = true;
    } else if (equals_ignoring_case(word, "limit") && i + 2 < call.arguments.size()) {
      query.offset = integer_argument(call, i + 1);
      query.limit = integer_argument(call, i + 2);
      query.limited = true;
      i += 2;
    } else if (all && !query.reverse && equals_ignoring_case(word, "rev")) {
      query.reverse = true;
    } else if (all && query.what == by::rank && equals_ignoring_case(word, "byscore")) {
      query.what = by::score;
    } else if (all && query.what == by::rank && equals_ignoring_case(word, "bylex")) {
      query.what = by::name;
    } else {
      fail(syntax_error);
    }
  }
  if (query.limited && query.what == by::rank && query.limit != -1) {
    fail("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
  }
  if (query.with_scores && query.what == by::name) {
    fail("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
  }
}

template <class Bound>
struct bounds {
  Bound low, high;
};

// With `swapped` the higher one is named first.
template <class Bound>
bounds<Bound> parse_bounds(const invocation& call, std::optional<Bound> (*parse)(std::string_view),
                           bool swapped, std::string_view error) {
  const auto low = parse(call.arguments[swapped ? 3 : 2]), high = parse(call.arguments[swapped ? 2 : 3]);
  if (!low || !high) {
    fail(error);
  }
  return {*low, *high};
}

// Finds the ranks of a range once the set is known; arguments are read before, as their errors come first.
class range {
public:
  range(const invocation& call, by what, bool swapped) : what_(what) {
    if (what == by::rank) {
      first_ = integer_argument(call, 2);
      last_ = integer_argument(call, 3);
    } else if (what == by::score) {
      scores_ = parse_bounds(call, parse_score_bound, swapped, "ERR min or max is not a float");
    } else {
      names_ = parse_bounds(call, parse_name_bound, swapped, "ERR min or max not valid string range item");
    }
  }

  ranks in(const sorted_set_value& set) const {
    if (what_ == by::score) {
      return between(set, scores_.low, scores_.high);
    }
    if (what_ == by::name) {
      return between(set, names_.low, names_.high);
    }
    const selection chosen = select_range(first_, last_, set.size());
    return {chosen.first, chosen.first + chosen.count};
  }

private:
  by what_;
  std::int64_t first_ = 0, last_ = 0;
  bounds<score_bound> scores_{};
  bounds<name_bound> names_{};
};

// Members from rank to rank, in either direction.
void reply_ranks(invocation& call, const sorted_set_value& set, std::size_t first, std::size_t count,
                 const range_query& query) {
  call.reply.array(count * (query.with_scores ? 2 : 1));
  if (count == 0) {
    return;
  }
  auto at = set.at(first);
  for (std::size_t i = 0; i < count; ++i) {
    call.reply.bulk(at->second);
    if (query.with_scores) {
      call.reply.bulk(score_text(at->first));
    }
    if (i + 1 < count) {
      query.reverse ? --at : ++at;
    }
  }
}

void run_query(invocation& call, const range_query& query) {
  const range wanted(call, query.what, query.reverse);
  const auto* set = read<sorted_set_value>(call, call.arguments[1]);
  if (set == nullptr) {
    call.reply.array(0);
    return;
  }
  ranks found = wanted.in(*set);
  if (query.what == by::rank && query.reverse) {
    found = {set->size() - found.last, set->size() - found.first};
  }
  const std::size_t there = found.count();
  // A negative offset selects nothing, a negative limit everything.
  const std::size_t skipped = query.what == by::rank ? 0
                              : query.offset < 0     ? there
                                                 : std::min(there, static_cast<std::size_t>(query.offset));
  std::size_t count = there - skipped;
  if (query.what != by::rank && query.limit >= 0) {
    count = std::min(count, static_cast<std::size_t>(query.limit));
  }
  reply_ranks(call, *set, query.reverse ? found.last - 1 - skipped : found.first + skipped, count, query);
}

void run_old_query(invocation& call, by what, bool reverse) {
  range_query query;
  query.what = what;
  query.reverse = reverse;
  parse_options(call, query, false);
  run_query(call, query);
}

void count_range(invocation& call, by what) {
  const range wanted(call, what, false);
  const auto* set = read<sorted_set_value>(call, call.arguments[1]);
  call.reply.integer(set == nullptr ? 0 : static_cast<std::int64_t>(wanted.in(*set).count()));
}

void remove_range(invocation& call, by what) {
  const range wanted(call, what, false);
  change<sorted_set_value> set(call, call.arguments[1]);
  const ranks found = set ? wanted.in(*set) : ranks{0, 0};
  if (found.count() == 0) {
    set.unchanged();
  }
  for (std::size_t i = 0; i < found.count(); ++i) {
    set->erase(found.first);
  }
  call.reply.integer(static_cast<std::int64_t>(found.count()));
}

}  // namespace

void zrange(invocation& call) {
  range_query query;
  parse_options(call, query, true);
  run_query(call, query);
}

void zrevrange(invocation& call) {
  run_old_query(call, by::rank, true);
}

void zrangebyscore(invocation& call) {
  run_old_query(call, by::score, false);
}

void zrevrangebyscore(invocation& call) {
  run_old_query(call, by::score, true);
}

void zrangebylex(invocation& call) {
  run_old_query(call, by::name, false);
}

void zrevrangebylex(invocation& call) {
  run_old_query(call, by::name, true);
}

void zcount(invocation& call) {
  count_range(call, by::score);
}

void zlexcount(invocation& call) {
  count_range(call, by::name);
}

void zremrangebyrank(invocation& call) {
  remove_range(call, by::rank);
}

void zremrangebyscore(invocation& call) {
  remove_range(call, by::score);
}

void zremrangebylex(invocation& call) {
  remove_range(call, by::name);
}

}  // namespace kv::handlers
