// Blocked clients, messages pushed to a client, and the removal of a client.
#include <algorithm>
#include <utility>

#include "commands.hpp"

namespace kv {

namespace {

// Gives the first item of the list to the client.
void hand(server_state& server, const std::string& key, client& to) {
  buffer out(server.config.max_output);
  reply_writer reply(out);
  {
    change<list_value> list(server.keys, key);
    reply.bulks({key, list->front()});
    list->pop_front();
  }
  server.blocked.remove(to);
  push_to(server, to, out.view());
}

bool has_items(const server_state& server, const std::string& key) {
  const any_value* found = server.keys.find(key);
  return found != nullptr && get_as<list_value>(*found) != nullptr;
}

}  // namespace

void blocked_clients::add(client& one) {
  waiting_for_list& wait = *one.waiting;
  destroy_ended(2 * wait.keys.size());  // so that clients cannot end waits faster than these are destroyed
  ++size_;
  wait.owner = &one;
  wait.number = ++waits_;
  try {
    for (const std::string& key : wait.keys) {
      wait.memory += registered_memory(key);
      one.state_memory += registered_memory(key);
      lines_[key].emplace(waits_, &wait);
    }
  } catch (...) {
    remove(one);
    throw;
  }
}

void blocked_clients::remove(client& one) {
  one.state_memory -= one.waiting->memory;
  one.waiting->owner = nullptr;
  one.waiting->next = std::move(ended_);
  ended_ = std::move(one.waiting);
  --size_;
}

bool blocked_clients::destroy_ended(std::size_t most) {
  for (; most != 0 && ended_ != nullptr; --most) {
    if (ended_->keys.empty()) {
      ended_ = std::move(ended_->next);
      continue;
    }
    const auto found = lines_.find(ended_->keys.back());
    if (found != lines_.end() && found->second.erase(ended_->number) != 0 && found->second.empty()) {
      lines_.erase(found);
    }
    ended_->keys.pop_back();
  }
  return ended_ != nullptr;
}

void blocked_clients::list_has_grown(std::string_view key) {
  if (size_ != 0 && lines_.find(key) != lines_.end()) {
    grown_.emplace_back(key);
  }
}

void blocked_clients::serve(server_state& server) {
  while (!grown_.empty()) {
    for (const std::string& key : std::exchange(grown_, {})) {
      serve_key(server, key);
    }
  }
}

// Skips a client whose connection has ended, even if its front has not noticed: the item would be lost.
void blocked_clients::serve_key(server_state& server, const std::string& key) {
  const auto found = lines_.find(key);
  if (found == lines_.end()) {
    return;
  }
  for (auto next = found->second.begin(); next != found->second.end() && has_items(server, key); ++next) {
    client* const first = next->second->owner;
    if (first != nullptr && !first->broken && !first->front.is_gone()) {
      hand(server, key, *first);
    }
  }
}

void push_to(server_state& server, client& to, std::string_view bytes) {
  if (to.broken) {
    return;
  }
  const std::size_t before = to.pushed.capacity();
  to.pushed.append(bytes);
  server.client_memory += to.pushed.capacity() - before;
  const std::size_t most = std::max(server.config.max_pushed, bytes.size());
  if (to.pushed.overflowed() || to.pushed.size() > most ||
      server.client_memory > server.config.max_memory_clients) {
    to.broken = true;
    server.client_memory -= to.pushed.capacity();
    to.pushed.release();
  }
  if (to.broken) {
    to.front.break_off();
  } else if (!std::exchange(to.to_wake, true)) {
    server.to_wake.push_back(&to);
  }
}

void wake_some(server_state& server, std::size_t most) {
  for (; most != 0 && !server.to_wake.empty(); --most) {
    client& next = *server.to_wake.front();
    server.to_wake.pop_front();
    next.to_wake = false;
    next.front.wake();
  }
}

void leave_channel(server_state& server, client& from, const std::string& name) {
  if (from.channels.erase(name) != 0) {
    const auto found = server.channels.find(name);
    found->second.erase(&from);
    if (found->second.empty()) {
      server.channels.erase(found);
    }
    from.state_memory -= registered_memory(name);
  }
}

void stop_watching(server_state& server, client& from) {
  for (const std::string& name : from.watched) {
    server.keys.unwatch(name, from.watched_changed);
    from.state_memory -= registered_memory(name);
  }
  from.watched.clear();
  from.watched_changed = false;
  from.watched_epoch = 0;
}

void forget(server_state& server, client& gone) {
  gone.broken = true;
  if (gone.waiting != nullptr) {
    server.blocked.remove(gone);
  }
  while (!gone.channels.empty()) {
    leave_channel(server, gone, std::string(*gone.channels.begin()));
  }
  stop_watching(server, gone);
  if (gone.to_wake) {
    std::erase(server.to_wake, &gone);
  }
  server.client_memory -= gone.pushed.capacity();
  gone.pushed.release();
}

}  // namespace kv
