// Messages between clients.
#include "commands.hpp"

namespace kv::handlers {

namespace {

void reply_subscription(invocation& call, std::string_view what, std::string_view name) {
  call.reply.array(3);
  call.reply.bulk(what);
  call.reply.bulk(name);
  call.reply.integer(static_cast<std::int64_t>(call.from.subscriptions));
}

}  // namespace

void subscribe(invocation& call) {
  kv::client& from = call.from;
  check_bound(call, "The number of channels that a client subscribes to",
              from.subscriptions + call.arguments.size() - 1);
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const std::string name(call.arguments[i]);
    if (from.channels.insert(name).second) {
      ++from.subscriptions;
      from.state_memory += registered_memory(name);
      call.server.channels[name].insert(&from);
    }
    reply_subscription(call, "subscribe", name);
  }
}

void unsubscribe(invocation& call) {
  const bool all = call.arguments.size() == 1;
  if (all && call.from.channels.empty()) {
    call.reply.array(3);
    call.reply.bulk("unsubscribe");
    call.reply.null();
    call.reply.integer(0);
  }
  for (std::size_t i = 1; all ? !call.from.channels.empty() : i < call.arguments.size(); ++i) {
    const std::string name(all ? *call.from.channels.begin() : call.arguments[i]);
    leave_channel(call.server, call.from, name);
    reply_subscription(call, "unsubscribe", name);
  }
}

// A sender that has subscribed in the same transaction gets the message among its replies.
void publish(invocation& call) {
  const auto found = call.server.channels.find(call.arguments[1]);
  if (found == call.server.channels.end()) {
    call.reply.integer(0);
    return;
  }
  buffer message(call.server.config.max_output);
  reply_writer writer(message);
  writer.bulks({"message", call.arguments[1], call.arguments[2]});
  count(call, found->second.size() / 4, found->second.size() * message.size());
  for (kv::client* each : found->second) {
    if (each == &call.from) {
      call.reply.raw(message.view());
    } else {
      push_to(call.server, *each, message.view());
    }
  }
  call.reply.integer(static_cast<std::int64_t>(found->second.size()));
}

}  // namespace kv::handlers
