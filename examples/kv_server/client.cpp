// What is pushed to a client, and forgetting one.
#include "client.hpp"

#include <algorithm>
#include <new>

#include "state.hpp"

namespace kv {

stored_request::stored_request(const command& found, const request& arguments) : found_(&found) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    bytes += arguments[i].size();
  }
  bytes_.reserve(bytes);
  slices_.reserve(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    slices_.push_back(
        {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(arguments[i].size())});
    bytes_.append(arguments[i]);
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
  if (to.front != nullptr) {
    to.broken ? to.front->break_off() : to.front->wake();
  }
}

namespace {

void take_back(server_state& server, handed_item&& item) {
  try {
    store::edit edit(server.keys, item.key);
    any_value* content = edit.get();
    if (content == nullptr) {
      content = &edit.create(make_value<list_value>());
    }
    if (auto* list = get_as<list_value>(*content)) {
      list->push(item.end, item.text);
    }
    server.blocked.list_has_grown(item.key);
  } catch (const std::bad_alloc&) {
    // Lost, as everything is soon.
  }
}

}  // namespace

void forget(server_state& server, client& gone) {
  gone.broken = true;
  gone.front = nullptr;
  if (gone.waiting != nullptr) {
    server.blocked.remove(gone);
  }
  if (gone.interests != nullptr) {
    for (const std::string& each : gone.interests->channels) {
      server.channels.remove(each, gone);
    }
    for (const auto& [name, version] : gone.interests->watched) {
      server.keys.lose_from_view(name);
    }
  }
  server.client_memory -= gone.pushed.capacity();
  gone.pushed.release();
  if (gone.handed) {
    take_back(server, std::move(*gone.handed));
    gone.handed.reset();
    try {
      server.blocked.serve(server);
    } catch (const std::bad_alloc&) {
      // The next one to push serves them.
    }
  }
}

}  // namespace kv
