// Sorting, and wasting time.
#include "computing.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace kv {

#ifdef KV_GIVES_WAY
const bool gives_way = true;
#else
const bool gives_way = false;
#endif

namespace {

struct stopped {};

// As Redis reads it: what strtod takes up to the end, or to a zero byte.
bool find_number(sortable& one) {
  char* end = nullptr;
  errno = 0;
  one.number = std::strtod(one.text.data(), &end);
  return *end == '\0' && errno != ERANGE && !std::isnan(one.number);
}

// A type of this unit's: so are the functions of templates that have to do with it.
class before {
public:
  before(sort_order wanted, const std::atomic<bool>& stop) : wanted_(wanted), stop_(stop) {}

  bool operator()(const sortable& one, const sortable& other) const {
    if (stop_.load(std::memory_order_relaxed)) [[unlikely]] {
      throw stopped();
    }
    const sortable& left = wanted_.descending ? other : one;
    const sortable& right = wanted_.descending ? one : other;
    if (!wanted_.by_text && left.number != right.number) {
      return left.number < right.number;
    }
    return left.text < right.text;
  }

private:
  const sort_order wanted_;
  const std::atomic<bool>& stop_;
};

}  // namespace

sort_result sort_items(std::span<sortable> items, sort_order wanted, const std::atomic<bool>& stop) {
  try {
    for (auto each = items.begin(); !wanted.by_text && each != items.end(); ++each) {
      if (stop.load(std::memory_order_relaxed)) {
        return sort_result::stopped;
      }
      if (!find_number(*each)) {
        return sort_result::not_numbers;
      }
    }
    std::sort(items.data(), items.data() + items.size(), before(wanted, stop));
  } catch (const stopped&) {
    return sort_result::stopped;
  }
  return sort_result::sorted;
}

void spin(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
  }
}

}  // namespace kv
