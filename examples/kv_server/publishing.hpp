// Who has subscribed to what.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace kv {

struct client;

// From names of channels to clients. A channel without a client is not listed.
class subscribers {
public:
  using clients = std::set<client*>;

  void add(std::string_view name, client& one) { names_[std::string(name)].insert(&one); }
  void remove(std::string_view name, client& one) {
    const auto found = names_.find(name);
    if (found != names_.end() && found->second.erase(&one) != 0 && found->second.empty()) {
      names_.erase(found);
    }
  }
  const clients* find(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }
  std::size_t size() const { return names_.size(); }

private:
  std::map<std::string, clients, std::less<>> names_;
};

}  // namespace kv
