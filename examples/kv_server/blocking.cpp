// Blocked clients, and handing them what they wait for.
#include "blocking.hpp"

#include <algorithm>
#include <utility>

#include "reply.hpp"
#include "state.hpp"

namespace kv {

namespace {

std::size_t memory_of(const waiting_for_list& one) {
  std::size_t bytes = sizeof(one);
  for (const std::string& key : one.keys) {
    bytes += 2 * (sizeof(std::string) + key.size()) + 128;
  }
  return bytes;
}

void hand(server_state& server, const std::string& key, client& to) {
  buffer out(server.config.max_output);
  reply_writer reply(out);
  {
    store::edit edit(server.keys, key);
    auto& list = *get_as<list_value>(*edit.get());
    to.handed = std::make_unique<handed_item>(handed_item{key, {}, to.waiting->end});
    to.handed->text = list.pop(to.waiting->end);
  }
  reply.array(2);
  reply.bulk(key);
  reply.bulk(to.handed->text);
  server.blocked.remove(to);
  push_to(server, to, out.view());
}

bool has_items(server_state& server, const std::string& key) {
  const any_value* found = server.keys.find(key);
  return found != nullptr && get_as<list_value>(*found) != nullptr;
}

}  // namespace

void blocked_clients::add(client& one) {
  ++size_;
  one.state_memory += memory_of(*one.waiting);
  try {
    for (const std::string& key : one.waiting->keys) {
      lines_[key].push_back(&one);
    }
  } catch (...) {
    remove(one);
    throw;
  }
}

void blocked_clients::remove(client& one) {
  for (const std::string& key : one.waiting->keys) {
    const auto found = lines_.find(key);
    if (found == lines_.end()) {
      continue;
    }
    const auto place = std::find(found->second.begin(), found->second.end(), &one);
    if (place != found->second.end()) {
      found->second.erase(place);
    }
    if (found->second.empty()) {
      lines_.erase(found);
    }
  }
  one.state_memory -= memory_of(*one.waiting);
  one.waiting.reset();
  --size_;
}

void blocked_clients::note(std::string_view key) {
  std::string name(key);
  if (lines_.contains(name)) {
    grown_.push_back(std::move(name));
  }
}

void blocked_clients::serve(server_state& server) {
  while (!grown_.empty()) {
    for (const std::string& key : std::exchange(grown_, {})) {
      serve_key(server, key);
    }
  }
}

// A client that is gone although its front has not noticed yet is passed over: its item would be lost.
void blocked_clients::serve_key(server_state& server, const std::string& key) {
  const auto found = lines_.find(key);
  if (found == lines_.end()) {
    return;
  }
  line& waiting = found->second;
  for (auto next = waiting.begin(); next != waiting.end() && has_items(server, key);) {
    client& first = **next++;
    const bool was_last = next == waiting.end();
    if (!first.broken && (first.front == nullptr || !first.front->is_gone())) {
      hand(server, key, first);
    }
    if (was_last) {
      return;  // and the line with it, perhaps
    }
  }
}

}  // namespace kv
