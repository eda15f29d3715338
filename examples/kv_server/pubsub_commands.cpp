// Messages to whoever listens: SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE PUBLISH PUBSUB.
#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

using names = std::set<std::string, std::less<>>;

// What a client has subscribed to, and where the server keeps the same.
struct kind {
  names interests::* own;
  subscribers server_state::* all;
  std::string_view subscribed, unsubscribed;
};

constexpr kind channel_kind{&interests::channels, &server_state::channels, "subscribe", "unsubscribe"};
constexpr kind pattern_kind{&interests::patterns, &server_state::patterns, "psubscribe", "punsubscribe"};

std::size_t subscription_memory(std::string_view name) {
  return 256 + 2 * name.size();
}

void reply_subscription(invocation& call, std::string_view what, std::string_view name) {
  call.reply.array(3);
  call.reply.bulk(what);
  call.reply.bulk(name);
  call.reply.integer(static_cast<std::int64_t>(call.from.subscriptions));
}

void subscribe_to(invocation& call, const kind& which) {
  kv::client& from = call.from;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const std::string_view name = call.arguments[i];
    if ((from.its_interests().*which.own).insert(std::string(name)).second) {
      ++from.subscriptions;
      from.state_memory += subscription_memory(name);
      (call.server.*which.all).add(name, from);
    }
    reply_subscription(call, which.subscribed, name);
  }
}

void leave(invocation& call, const kind& which, std::string_view name) {
  names& own = call.from.its_interests().*which.own;
  const auto found = own.find(name);
  if (found != own.end()) {
    (call.server.*which.all).remove(name, call.from);
    --call.from.subscriptions;
    call.from.state_memory -= subscription_memory(name);
    own.erase(found);
  }
}

void unsubscribe_from(invocation& call, const kind& which) {
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    leave(call, which, call.arguments[i]);
    reply_subscription(call, which.unsubscribed, call.arguments[i]);
  }
  if (call.arguments.size() > 1) {
    return;
  }
  names& own = call.from.its_interests().*which.own;
  if (own.empty()) {
    call.reply.array(3);
    call.reply.bulk(which.unsubscribed);
    call.reply.null();
    call.reply.integer(static_cast<std::int64_t>(call.from.subscriptions));
  }
  while (!own.empty()) {
    const std::string name = *own.begin();
    leave(call, which, name);
    reply_subscription(call, which.unsubscribed, name);
  }
}

// To all of them; to the sender itself, which has subscribed in the same transaction, among its replies.
std::int64_t deliver(invocation& call, const subscribers::clients& to, std::string_view message) {
  for (kv::client* each : to) {
    if (each == &call.from) {
      call.reply.raw(message);
    } else {
      push_to(call.server, *each, message);
    }
  }
  return static_cast<std::int64_t>(to.size());
}

void pubsub_channels(invocation& call) {
  if (call.arguments.size() > 3) {
    fail("ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.");
  }
  std::vector<std::string_view> found;
  for (const auto& [name, listeners] : call.server.channels) {
    if (call.arguments.size() == 2 || matches_pattern(call.arguments[2], name)) {
      found.push_back(name);
    }
  }
  call.reply.array(found.size());
  for (const std::string_view each : found) {
    call.reply.bulk(each);
  }
}

void pubsub_numsub(invocation& call) {
  call.reply.array(2 * (call.arguments.size() - 2));
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    const subscribers::clients* found = call.server.channels.find(call.arguments[i]);
    call.reply.bulk(call.arguments[i]);
    call.reply.integer(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
  }
}

void pubsub_numpat(invocation& call) {
  call.reply.integer(static_cast<std::int64_t>(call.server.patterns.size()));
}

}  // namespace

void subscribe(invocation& call) {
  subscribe_to(call, channel_kind);
}

void psubscribe(invocation& call) {
  subscribe_to(call, pattern_kind);
}

void unsubscribe(invocation& call) {
  unsubscribe_from(call, channel_kind);
}

void punsubscribe(invocation& call) {
  unsubscribe_from(call, pattern_kind);
}

void unsubscribe_all(invocation& call) {
  if (call.from.interests == nullptr) {
    return;
  }
  for (const kind* each : {&channel_kind, &pattern_kind}) {
    for (names& own = call.from.interests.get()->*each->own; !own.empty();) {
      leave(call, *each, std::string(*own.begin()));
    }
  }
}

void publish(invocation& call) {
  const std::string_view name = call.arguments[1], text = call.arguments[2];
  std::int64_t receivers = 0;
  buffer message(call.server.config.max_output);
  reply_writer writer(message);
  if (const subscribers::clients* found = call.server.channels.find(name)) {
    writer.array(3);
    writer.bulk("message");
    writer.bulk(name);
    writer.bulk(text);
    receivers += deliver(call, *found, message.view());
  }
  for (const auto& [pattern, listeners] : call.server.patterns) {
    if (!matches_pattern(pattern, name)) {
      continue;
    }
    message.clear();
    writer.array(4);
    writer.bulk("pmessage");
    writer.bulk(pattern);
    writer.bulk(name);
    writer.bulk(text);
    receivers += deliver(call, listeners, message.view());
  }
  call.reply.integer(receivers);
}

constexpr subcommand pubsub_table[] = {
    {"channels", -2, pubsub_channels},
    {"numpat", 2, pubsub_numpat},
    {"numsub", -2, pubsub_numsub},
};
const std::span<const subcommand> pubsub_choices = pubsub_table;

}  // namespace kv::handlers
