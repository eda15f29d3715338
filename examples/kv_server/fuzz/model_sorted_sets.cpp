// The model of the commands on sorted sets.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model_base.hpp"

namespace kv::fuzz {

namespace {

using scored = std::pair<double, std::string>;

std::vector<scored> in_order(model_call& c) {
  std::vector<scored> all;
  if (const auto* set = c.find<sorted_set_model>(c.a[1])) {
    for (const auto& [name, score] : *set) {
      all.emplace_back(score, name);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

double score_argument(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const double score = std::strtod(text.c_str(), &end);
  const bool spaced = text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0;
  if (spaced || end != text.c_str() + text.size() || std::isnan(score) ||
      (errno == ERANGE && (std::isinf(score) || score == 0))) {
    throw model_error{"ERR"};
  }
  return score + 0.0;
}

reply score_reply(double score) {
  if (std::isinf(score)) {
    return bulk(score < 0 ? "-inf" : "inf");
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", score);
  return bulk(text);
}

struct add_options {
  bool nx = false, xx = false, gt = false, lt = false, ch = false, incr = false;
};

add_options read_options(model_call& c, std::size_t& at) {
  add_options o;
  for (at = 2; at < c.size(); ++at) {
    const std::string word = c.option(at);
    bool* const chosen = word == "NX"     ? &o.nx
                         : word == "XX"   ? &o.xx
                         : word == "GT"   ? &o.gt
                         : word == "LT"   ? &o.lt
                         : word == "CH"   ? &o.ch
                         : word == "INCR" ? &o.incr
                                          : nullptr;
    if (chosen == nullptr) {
      break;
    }
    *chosen = true;
  }
  const std::size_t left = c.size() - at;
  if (left == 0 || left % 2 != 0 || (o.nx && o.xx) || (o.nx && (o.gt || o.lt)) || (o.gt && o.lt) ||
      (o.incr && left != 2)) {
    throw model_error{"ERR"};
  }
  return o;
}

reply zadd(model_call& c) {
  std::size_t first = 0;
  const add_options o = read_options(c, first);
  std::vector<scored> wanted;
  for (std::size_t i = first; i < c.size(); i += 2) {
    wanted.emplace_back(score_argument(c.a[i]), c.a[i + 1]);
  }
  if (c.find<sorted_set_model>(c.a[1]) == nullptr && o.xx) {
    return o.incr ? null_bulk() : integer(0);
  }
  auto& set = c.make<sorted_set_model>(c.a[1]);
  long long added = 0, changed = 0;
  reply last = null_bulk();
  for (auto [score, name] : wanted) {
    const auto old = set.find(name);
    if (old == set.end()) {
      if (!o.xx) {
        set[name] = score;
        ++added;
        last = score_reply(score);
      }
      continue;
    }
    score = o.incr ? old->second + score : score;
    if (o.nx) {
      continue;
    }
    if (std::isnan(score)) {
      throw model_error{"ERR"};
    }
    if (!(o.gt && score <= old->second) && !(o.lt && score >= old->second)) {
      changed += score != old->second ? 1 : 0;
      old->second = score;
      last = score_reply(score);
    }
  }
  return o.incr ? last : integer(added + (o.ch ? changed : 0));
}

reply zincrby(model_call& c) {
  const double increment = score_argument(c.a[2]);
  auto& set = c.make<sorted_set_model>(c.a[1]);
  const auto [found, is_new] = set.try_emplace(c.a[3], increment);
  if (!is_new) {
    found->second += increment;
  }
  if (std::isnan(found->second)) {
    throw model_error{"ERR"};
  }
  return score_reply(found->second);
}

reply zrem(model_call& c) {
  auto* set = c.find<sorted_set_model>(c.a[1]);
  long long removed = 0;
  for (std::size_t i = 2; set != nullptr && i < c.size(); ++i) {
    removed += static_cast<long long>(set->erase(c.a[i]));
  }
  c.tidy<sorted_set_model>(c.a[1]);
  return integer(removed);
}

reply zscore(model_call& c, const std::string& name) {
  const auto* set = c.find<sorted_set_model>(c.a[1]);
  const auto found = set == nullptr ? sorted_set_model::const_iterator{} : set->find(name);
  return set == nullptr || found == set->end() ? null_bulk() : score_reply(found->second);
}

reply zmscore(model_call& c) {
  reply all = array();
  for (std::size_t i = 2; i < c.size(); ++i) {
    all.elements.push_back(zscore(c, c.a[i]));
  }
  return all;
}

reply zrank(model_call& c, bool reverse) {
  const auto all = in_order(c);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const scored& each) { return each.second == c.a[2]; });
  if (found == all.end()) {
    return null_bulk();
  }
  return integer(reverse ? all.end() - found - 1 : found - all.begin());
}

reply listed(const std::vector<scored>& some, bool with_scores) {
  reply all = array();
  for (const auto& [score, name] : some) {
    all.elements.push_back(bulk(name));
    if (with_scores) {
      all.elements.push_back(score_reply(score));
    }
  }
  return all;
}

reply zpop(model_call& c, bool smallest) {
  if (c.size() > 3 || (c.size() == 3 && c.number(2) < 0)) {
    throw model_error{"ERR"};
  }
  auto all = in_order(c);
  if (!smallest) {
    std::reverse(all.begin(), all.end());
  }
  const auto wanted = static_cast<std::uint64_t>(c.size() == 3 ? c.number(2) : 1);
  all.resize(std::min<std::size_t>(all.size(), wanted));
  for (const auto& [score, name] : all) {
    c.find<sorted_set_model>(c.a[1])->erase(name);
  }
  c.tidy<sorted_set_model>(c.a[1]);
  return listed(all, true);
}

// By ranks, with no option but WITHSCORES.
reply zrange(model_call& c, bool reverse) {
  const bool with_scores = c.size() > 4;
  const std::int64_t first = c.number(2), last = c.number(3);
  auto all = in_order(c);
  if (reverse) {
    std::reverse(all.begin(), all.end());
  }
  const span_of part = span_between(first, last, all.size());
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(part.first);
  return listed({begin, begin + static_cast<std::ptrdiff_t>(part.count)}, with_scores);
}

struct score_bound {
  double score;
  bool excluded;
};

score_bound bound_argument(const std::string& text) {
  const bool excluded = !text.empty() && text[0] == '(';
  const std::string number = text.substr(excluded ? 1 : 0);
  char* end = nullptr;
  const double score = std::strtod(number.c_str(), &end);
  if (*end != '\0' || std::isnan(score)) {
    throw model_error{"ERR"};
  }
  return {score, excluded};
}

std::vector<scored> within(model_call& c, std::size_t low_index, std::size_t high_index) {
  const score_bound low = bound_argument(c.a[low_index]), high = bound_argument(c.a[high_index]);
  auto all = in_order(c);
  std::erase_if(all, [&](const scored& each) {
    return each.first < low.score || (low.excluded && each.first == low.score) || each.first > high.score ||
           (high.excluded && each.first == high.score);
  });
  return all;
}

reply zrangebyscore(model_call& c, bool reverse) {
  auto all = within(c, reverse ? 3 : 2, reverse ? 2 : 3);
  if (reverse) {
    std::reverse(all.begin(), all.end());
  }
  return listed(all, false);
}

struct name_bound {
  std::string name;
  bool excluded;
  int infinite;
};

name_bound name_argument(const std::string& text) {
  if (text == "-" || text == "+") {
    return {{}, false, text == "-" ? -1 : 1};
  }
  if (text.empty() || (text[0] != '[' && text[0] != '(')) {
    throw model_error{"ERR"};
  }
  return {text.substr(1), text[0] == '(', 0};
}

std::vector<scored> named(model_call& c) {
  const name_bound low = name_argument(c.a[2]), high = name_argument(c.a[3]);
  auto all = in_order(c);
  std::erase_if(all, [&](const scored& each) {
    const bool below = low.infinite != 0
                           ? low.infinite > 0
                           : each.second < low.name || (low.excluded && each.second == low.name);
    const bool above = high.infinite != 0
                           ? high.infinite < 0
                           : each.second > high.name || (high.excluded && each.second == high.name);
    return below || above;
  });
  return all;
}

reply removed(model_call& c, const std::vector<scored>& gone) {
  for (const auto& [score, name] : gone) {
    c.find<sorted_set_model>(c.a[1])->erase(name);
  }
  c.tidy<sorted_set_model>(c.a[1]);
  return integer(static_cast<long long>(gone.size()));
}

reply zremrangebyrank(model_call& c) {
  const std::int64_t first = c.number(2), last = c.number(3);
  const auto all = in_order(c);
  const span_of part = span_between(first, last, all.size());
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(part.first);
  return removed(c, {begin, begin + static_cast<std::ptrdiff_t>(part.count)});
}

}  // namespace

handlers sorted_set_models() {
  return {
      {"zadd", zadd},
      {"zincrby", zincrby},
      {"zrem", zrem},
      {"zcard", [](model_call& c) { return integer(static_cast<long long>(in_order(c).size())); }},
      {"zscore", [](model_call& c) { return zscore(c, c.a[2]); }},
      {"zmscore", zmscore},
      {"zrank", [](model_call& c) { return zrank(c, false); }},
      {"zrevrank", [](model_call& c) { return zrank(c, true); }},
      {"zpopmin", [](model_call& c) { return zpop(c, true); }},
      {"zpopmax", [](model_call& c) { return zpop(c, false); }},
      {"zrange", [](model_call& c) { return zrange(c, false); }},
      {"zrevrange", [](model_call& c) { return zrange(c, true); }},
      {"zrangebyscore", [](model_call& c) { return zrangebyscore(c, false); }},
      {"zrevrangebyscore", [](model_call& c) { return zrangebyscore(c, true); }},
      {"zcount", [](model_call& c) { return integer(static_cast<long long>(within(c, 2, 3).size())); }},
      {"zlexcount", [](model_call& c) { return integer(static_cast<long long>(named(c).size())); }},
      {"zrangebylex", [](model_call& c) { return listed(named(c), false); }},
      {"zremrangebylex", [](model_call& c) { return removed(c, named(c)); }},
      {"zremrangebyscore", [](model_call& c) { return removed(c, within(c, 2, 3)); }},
      {"zremrangebyrank", zremrangebyrank},
  };
}

}  // namespace kv::fuzz
