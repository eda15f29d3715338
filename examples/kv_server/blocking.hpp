// Clients that wait for a list to have an item (BLPOP, BRPOP): who waits for which key, in which order.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kv {

struct client;
struct server_state;

class blocked_clients {
public:
  std::size_t size() const { return size_; }

  // `one.waiting` says for what. Throws std::bad_alloc, then it does not wait.
  void add(client& one);
  void remove(client& one);  // and one.waiting is empty

  // The key has a list now, or more in it. Cheap when nobody waits.
  void list_has_grown(std::string_view key) {
    if (size_ != 0) {
      note(key);
    }
  }
  bool has_news() const { return !grown_.empty(); }

  // Gives the items of lists that have grown to the clients that wait for them: the one that has waited
  // longest first. To be called between commands.
  void serve(server_state& server);

private:
  using line = std::list<client*>;

  void note(std::string_view key);
  void serve_key(server_state& server, const std::string& key);

  std::unordered_map<std::string, line> lines_;
  std::vector<std::string> grown_;
  std::size_t size_ = 0;
};

}  // namespace kv
