// The model of SORT.
#include <cmath>

#include "model_base.hpp"

namespace kv::fuzz {

namespace {

using list_of_words = std::vector<std::string>;

list_of_words elements_of(model_call& c, const std::string& key) {
  const auto found = c.keys.find(key);
  if (found == c.keys.end()) {
    return {};
  }
  if (const auto* list = std::get_if<list_model>(&found->second.content)) {
    return {list->begin(), list->end()};
  }
  if (const auto* set = std::get_if<set_model>(&found->second.content)) {
    return {set->begin(), set->end()};
  }
  list_of_words names;
  for (const auto& [name, score] : *c.find<sorted_set_model>(key)) {  // or it is of the wrong type
    names.push_back(name);
  }
  return names;
}

double number_of(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != '\0' || errno == ERANGE || std::isnan(number)) {
    throw model_error{"ERR"};
  }
  return number;
}

struct sort_wishes {
  bool by_text = false, descending = false;
  std::int64_t skip = 0, most = -1;
  std::optional<std::string> to;
};

sort_wishes wishes(const model_call& c) {
  sort_wishes found;
  for (std::size_t i = 2; i < c.size(); ++i) {
    const std::string word = c.option(i);
    if (word == "LIMIT" && i + 2 < c.size()) {
      found.skip = c.number(i + 1);
      found.most = c.number(i + 2);
      i += 2;
    } else if (word == "STORE" && i + 1 < c.size()) {
      found.to = c.a[++i];
    } else if (word == "ALPHA") {
      found.by_text = true;
    } else if (word == "ASC" || word == "DESC") {
      found.descending = word == "DESC";
    } else {
      throw model_error{"ERR"};
    }
  }
  return found;
}

reply sort(model_call& c) {
  const sort_wishes wanted = wishes(c);
  std::vector<std::pair<double, std::string>> items;
  for (const std::string& each : elements_of(c, c.a[1])) {
    items.emplace_back(wanted.by_text ? 0 : number_of(each), each);
  }
  std::sort(items.begin(), items.end());
  if (wanted.descending) {
    std::reverse(items.begin(), items.end());
  }
  list_of_words kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto place = static_cast<__int128>(i);
    const __int128 begin = std::max<__int128>(wanted.skip, 0);
    if (place >= begin && (wanted.most < 0 || place < begin + wanted.most)) {
      kept.push_back(items[i].second);
    }
  }
  if (!wanted.to) {
    reply all = array();
    for (const std::string& each : kept) {
      all.elements.push_back(bulk(each));
    }
    return all;
  }
  c.keys.erase(*wanted.to);
  if (!kept.empty()) {
    c.keys[*wanted.to] = value_model{list_model(kept.begin(), kept.end()), 0, 0};
  }
  return integer(count_of(kept.size()));
}

}  // namespace

handlers sort_models() {
  return {{"sort", sort}};
}

}  // namespace kv::fuzz
