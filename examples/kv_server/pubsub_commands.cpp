// Messages between clients: SUBSCRIBE UNSUBSCRIBE PUBLISH.
#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

std::size_t subscription_memory(std::string_view name) {
  return 256 + 2 * name.size();
}

void reply_subscription(invocation& call, std::string_view what, std::string_view name) {
  call.reply.array(3);
  call.reply.bulk(what);
  call.reply.bulk(name);
  call.reply.integer(static_cast<std::int64_t>(call.from.subscriptions));
}

void leave_channel(invocation& call, const std::string& name) {
  if (call.from.its_interests().channels.erase(name) != 0) {
    call.server.channels.remove(name, call.from);
    --call.from.subscriptions;
    call.from.state_memory -= subscription_memory(name);
  }
}

}  // namespace

void subscribe(invocation& call) {
  kv::client& from = call.from;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const std::string_view name = call.arguments[i];
    if (from.its_interests().channels.insert(std::string(name)).second) {
      ++from.subscriptions;
      from.state_memory += subscription_memory(name);
      call.server.channels.add(name, from);
    }
    reply_subscription(call, "subscribe", name);
  }
}

void unsubscribe(invocation& call) {
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    leave_channel(call, std::string(call.arguments[i]));
    reply_subscription(call, "unsubscribe", call.arguments[i]);
  }
  if (call.arguments.size() > 1) {
    return;
  }
  auto& own = call.from.its_interests().channels;
  if (own.empty()) {
    call.reply.array(3);
    call.reply.bulk("unsubscribe");
    call.reply.null();
    call.reply.integer(0);
  }
  while (!own.empty()) {
    const std::string name = *own.begin();
    leave_channel(call, name);
    reply_subscription(call, "unsubscribe", name);
  }
}

void unsubscribe_all(invocation& call) {
  while (call.from.subscriptions != 0) {
    leave_channel(call, std::string(*call.from.interests->channels.begin()));
  }
}

// The sender itself, if it has subscribed in the same transaction, gets the message among its replies.
void publish(invocation& call) {
  const subscribers::clients* found = call.server.channels.find(call.arguments[1]);
  if (found == nullptr) {
    call.reply.integer(0);
    return;
  }
  buffer message(call.server.config.max_output);
  reply_writer writer(message);
  writer.array(3);
  writer.bulk("message");
  writer.bulk(call.arguments[1]);
  writer.bulk(call.arguments[2]);
  for (kv::client* each : *found) {
    if (each == &call.from) {
      call.reply.raw(message.view());
    } else {
      push_to(call.server, *each, message.view());
    }
  }
  call.reply.integer(static_cast<std::int64_t>(found->size()));
}

}  // namespace kv::handlers
