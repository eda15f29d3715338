// Commands on sets: SADD SREM SPOP SMEMBERS, and those on several, SINTER SUNION SDIFF.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "computation.hpp"
#include "handlers.hpp"
#include "integer.hpp"
#include "randomness.hpp"

namespace kv::handlers {

namespace {

enum class operation { intersection, united, difference };

using sets = std::vector<const set_value*>;

// SINTER, SUNION, SDIFF and SMEMBERS: collects the members, some at a time, and replies with them or stores
// them. If one of the sets changes meanwhile it begins again; the last attempt does all at once.
class set_combination final : public computation {
public:
  set_combination(const request& arguments, std::size_t first_key, operation how) : how_(how) {
    if (first_key == 2) {
      destination_ = arguments[1];
    }
    for (std::size_t i = first_key; i < arguments.size(); ++i) {
      keys_.emplace_back(arguments[i]);
    }
  }

  step go_on(server_state& server, reply_writer& reply) override {
    if (!collected_) {
      if (!collect_some(server)) {
        return step::more;
      }
      collected_ = true;
      destination_ ? store(server, reply) : begin_reply(reply);
    }
    for (std::size_t left = portion; left != 0 && result_->size() != 0; --left) {
      reply.bulk(*result_->begin());
      result_->drop_one();
    }
    return result_->size() == 0 ? step::done : step::more;
  }
  void compute() override {}
  std::size_t size(server_state& server) const override {
    std::size_t members = 0;
    for (const set_value* each : read_sets(server)) {
      members += each->size();
    }
    return members;
  }
  std::size_t memory() const override { return result_->memory(); }

private:
  static constexpr std::size_t portion = 1024;
  static constexpr int most_attempts = 3;

  // An empty set stands for a key that does not exist.
  sets read_sets(server_state& server) const {
    static const set_value empty;
    sets found;
    for (const std::string& key : keys_) {
      const any_value* value = server.keys.find(key);
      const auto* set = value == nullptr ? &empty : get_as<set_value>(*value);
      if (set == nullptr) {
        fail(wrong_type);
      }
      found.push_back(set);
    }
    return found;
  }

  // Returns whether all members are collected.
  bool collect_some(server_state& server) {
    const sets all = read_sets(server);
    std::vector<std::uint64_t> versions;
    for (const std::string& key : keys_) {
      versions.push_back(server.keys.version(key));
    }
    if (attempts_ == 0 || versions != versions_) {
      versions_ = std::move(versions);
      ++attempts_;
      source_ = position_ = 0;
      server.keys.discard(std::exchange(result_, std::make_unique<set_value>()));
    }
    std::size_t left = attempts_ > most_attempts ? std::numeric_limits<std::size_t>::max()
                                                 : std::max<std::size_t>(portion / all.size(), 1);
    const std::size_t sources = how_ == operation::united ? all.size() : 1;
    for (; source_ != sources; ++source_, position_ = 0) {
      const set_value& from = how_ == operation::intersection ? smallest(all) : *all[source_];
      for (auto next = from.at(position_); next != from.end(); ++next, ++position_) {
        if (left-- == 0) {
          return false;
        }
        if (belongs(all, *next)) {
          result_->add(*next);
        }
      }
    }
    return true;
  }

  static const set_value& smallest(const sets& all) {
    return **std::min_element(all.begin(), all.end(), [](const set_value* one, const set_value* other) {
      return one->size() < other->size();
    });
  }

  bool belongs(const sets& all, const std::string& member) const {
    const auto has_member = [&](const set_value* each) { return each->contains(member); };
    switch (how_) {
      case operation::intersection:
        return std::all_of(all.begin(), all.end(), has_member);
      case operation::difference:
        return std::none_of(all.begin() + 1, all.end(), has_member);
      case operation::united:
        break;
    }
    return true;
  }

  void store(server_state& server, reply_writer& reply) {
    const std::size_t size = result_->size();
    if (size != 0) {
      check_room(server, result_->memory());
    }
    server.keys.erase(*destination_);
    if (size != 0) {
      kv::store::edit(server.keys, *destination_)
          .create(std::exchange(result_, std::make_unique<set_value>()));
    }
    reply.integer(static_cast<std::int64_t>(size));
  }

  // Sets of integers are few and shown in ascending order.
  void begin_reply(reply_writer& reply) {
    reply.array(result_->size());
    if (!result_->is_integers()) {
      return;
    }
    std::vector<std::int64_t> numbers;
    for (const std::string& each : *result_) {
      numbers.push_back(*parse_integer(each));
    }
    std::sort(numbers.begin(), numbers.end());
    for (const std::int64_t each : numbers) {
      reply.bulk(std::to_string(each));
    }
    result_ = std::make_unique<set_value>();
  }

  const operation how_;
  std::optional<std::string> destination_;
  std::vector<std::string> keys_;
  std::vector<std::uint64_t> versions_;
  int attempts_ = 0;
  std::size_t source_ = 0, position_ = 0;  // what is collected next
  bool collected_ = false;
  std::unique_ptr<set_value> result_ = std::make_unique<set_value>();
};

void combine(invocation& call, operation how) {
  leave(call, std::make_unique<set_combination>(call.arguments, 1, how));
}

void store_combined(invocation& call, operation how) {
  leave(call, std::make_unique<set_combination>(call.arguments, 2, how));
}

}  // namespace

void sadd(invocation& call) {
  change<set_value> set(call, call.arguments[1]);
  set_value& members = set.or_create();
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    added += members.add(call.arguments[i]) ? 1 : 0;
  }
  if (added == 0) {
    set.unchanged();
  }
  call.reply.integer(added);
}

void srem(invocation& call) {
  change<set_value> set(call, call.arguments[1]);
  std::int64_t erased = 0;
  for (std::size_t i = 2; set && i < call.arguments.size(); ++i) {
    erased += set->erase(std::string(call.arguments[i])) ? 1 : 0;
  }
  if (erased == 0) {
    set.unchanged();
  }
  call.reply.integer(erased);
}

void spop(invocation& call) {
  const bool counted = call.arguments.size() > 2;
  if (call.arguments.size() > 3) {
    fail(syntax_error);
  }
  const std::size_t wanted = counted ? count_argument(call, 2) : 1;
  change<set_value> set(call, call.arguments[1]);
  if (!set && !counted) {
    call.reply.null();
    return;
  }
  const std::size_t count = set ? std::min(wanted, set->size()) : 0;
  if (count > most_at_once) {
    set.unchanged();
    check_at_once(count);
  }
  if (counted) {
    call.reply.array(count);
  }
  if (count == 0) {
    set.unchanged();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string chosen = *set->at(count == set->size() ? 0 : random_below(set->size()));
    call.reply.bulk(chosen);
    set->erase(chosen);
  }
}

void smove(invocation& call) {
  const std::string_view from = call.arguments[1], to = call.arguments[2];
  const std::string member(call.arguments[3]);
  const auto* source = read<set_value>(call, from);
  if (source == nullptr) {
    call.reply.integer(0);
    return;
  }
  read<set_value>(call, to);  // its type
  const bool there = source->contains(member);
  if (there && from != to) {
    {
      change<set_value> target(call, to);
      if (!target.or_create().add(member)) {
        target.unchanged();  // as in Redis, who watches that key sees no change
      }
    }
    change<set_value>(call, from)->erase(member);
  }
  call.reply.integer(there ? 1 : 0);
}

void smembers(invocation& call) {
  combine(call, operation::united);
}

void sismember(invocation& call) {
  const auto* set = read<set_value>(call, call.arguments[1]);
  call.reply.integer(set != nullptr && set->contains(std::string(call.arguments[2])) ? 1 : 0);
}

void scard(invocation& call) {
  reply_size<set_value>(call);
}

void sinter(invocation& call) {
  combine(call, operation::intersection);
}

void sunion(invocation& call) {
  combine(call, operation::united);
}

void sdiff(invocation& call) {
  combine(call, operation::difference);
}

void sinterstore(invocation& call) {
  store_combined(call, operation::intersection);
}

void sunionstore(invocation& call) {
  store_combined(call, operation::united);
}

void sdiffstore(invocation& call) {
  store_combined(call, operation::difference);
}

}  // namespace kv::handlers
