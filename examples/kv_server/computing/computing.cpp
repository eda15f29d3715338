// Sorting: short runs, then merging neighbours.
#include "computing.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <utility>

#ifdef KV_GIVES_WAY
#include "sennit/no_yield.h"
const bool kv::gives_way = true;
#else
const bool kv::gives_way = false;
#endif

namespace kv {

namespace {

constexpr std::size_t run_size = 256;

// As Redis reads it: what strtod takes up to the end, or to a zero byte.
bool find_number(sortable& one) {
  char* end = nullptr;
  errno = 0;
  one.number = std::strtod(one.text.data(), &end);
  return *end == '\0' && errno != ERANGE && !std::isnan(one.number);
}

// A type of this unit: so are the functions of templates that have to do with it.
struct before {
  sort_order wanted;

  bool operator()(const sortable& one, const sortable& other) const {
    const sortable& left = wanted.descending ? other : one;
    const sortable& right = wanted.descending ? one : other;
    if (!wanted.by_text && left.number != right.number) {
      return left.number < right.number;
    }
    return left.text < right.text;
  }
};

}  // namespace

void sort_job::run() {
  do {
    run_portion();
  } while (gives_way && result_ == outcome::unfinished);
}

void sort_job::run_at_once() {
#ifdef KV_GIVES_WAY
  sennit_no_yield_begin();
#endif
  while (result_ == outcome::unfinished) {
    run_portion();
  }
#ifdef KV_GIVES_WAY
  sennit_no_yield_end();
#endif
}

void sort_job::run_portion() {
  if (prepared_ != size_) {
    const std::size_t end = std::min(prepared_ + run_size, size_);
    for (std::size_t i = prepared_; !wanted_.by_text && i != end; ++i) {
      if (!find_number(items_[i])) {
        result_ = outcome::not_numbers;
        return;
      }
    }
    std::sort(items_ + prepared_, items_ + end, before{wanted_});
    prepared_ = end;
    width_ = run_size;
  } else if (size_ <= run_size || width_ >= size_) {
    result_ = outcome::sorted;
  } else {
    merge_two();
  }
}

// Merges two neighbours of the runs.
void sort_job::merge_two() {
  const std::size_t middle = std::min(merged_ + width_, size_), end = std::min(middle + width_, size_);
  std::merge(items_ + merged_, items_ + middle, items_ + middle, items_ + end, spare_ + merged_,
             before{wanted_});
  merged_ = end;
  if (merged_ == size_) {
    std::swap(items_, spare_);
    merged_ = 0;
    width_ *= 2;
  }
}

}  // namespace kv
