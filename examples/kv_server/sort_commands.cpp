// SORT: copies the elements and sorts the copy, while other clients' commands are executed. The key is
// claimed until everything is copied.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "commands.hpp"

namespace kv::handlers {

namespace {

struct sort_options {
  sort_order order;
  std::int64_t skip = 0, most = -1;  // a negative `most`: all
};

sort_options parse_options(const invocation& call) {
  sort_options found;
  const auto& words = call.arguments;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t behind = words.size() - i - 1;
    if (equals_ignoring_case(words[i], "asc")) {
      found.order.descending = false;
    } else if (equals_ignoring_case(words[i], "desc")) {
      found.order.descending = true;
    } else if (equals_ignoring_case(words[i], "alpha")) {
      found.order.by_text = true;
    } else if (equals_ignoring_case(words[i], "limit") && behind >= 2) {
      found.skip = integer_argument(call, i + 1);
      found.most = integer_argument(call, i + 2);
      i += 2;
    } else {
      fail(syntax_error);
    }
  }
  return found;
}

// Reads the elements of a collection one by one. The collection must not change meanwhile.
class element_reader {
public:
  explicit element_reader(const any_value* from) {
    if (from == nullptr) {
      return;
    }
    size_ = size_of(*from);
    if ((list_ = get_as<list_value>(*from)) != nullptr) {
      return;
    }
    if (const auto* set = get_as<set_value>(*from)) {
      member_ = set->begin();
    } else if (const auto* sorted = get_as<sorted_set_value>(*from)) {
      place_ = sorted->begin();
    } else {
      fail(wrong_type);
    }
  }

  std::size_t size() const { return size_; }
  const std::string& next() {
    if (list_ != nullptr) {
      return (*list_)[at_++];
    }
    return place_ ? (*place_)++->second : *(*member_)++;
  }

private:
  std::size_t size_ = 0, at_ = 0;
  const list_value* list_ = nullptr;
  std::optional<set_value::tree::const_iterator> member_;
  std::optional<std::set<sorted_set_value::position>::const_iterator> place_;
};

struct free_memory {
  void operator()(void* memory) const { std::free(memory); }
};

std::string_view error_of(sort_job::outcome outcome) {
  return outcome == sort_job::outcome::stopped ? "ERR The server is ending"
                                               : "ERR One or more scores can't be converted into double";
}

}  // namespace

portions sort(invocation& call) {
  const sort_options options = parse_options(call);
  scratch<list_value> copy(call);
  budget now;
  element_reader from(call.server.keys.find(call.arguments[1]));
  const std::size_t size = from.size();
  // Half of them are spare. They are not initialised, since that would touch all the memory at once.
  const std::unique_ptr<sortable[], free_memory> items(
      static_cast<sortable*>(std::malloc((2 * size + 1) * sizeof(sortable))));
  if (items == nullptr) {
    throw std::bad_alloc();
  }
  for (std::size_t i = 0; i != size; ++i) {
    const std::string& text = copy->push(list_end::right, from.next());
    items[i] = {text, 0};
    call.from.working_memory = copy->memory() + 2 * size * sizeof(sortable);
    if (now.spent(text.size())) {
      co_yield step::more;
    }
  }
  release_claims(call);

  sort_job job(items.get(), items.get() + size, size, options.order);
  call.from.job = &job;
  while (job.result() == sort_job::outcome::unfinished) {
    co_yield step::compute;
  }
  call.from.job = nullptr;

  const sortable* sorted = job.sorted();
  const auto count = static_cast<std::int64_t>(size);
  const auto first = static_cast<std::size_t>(std::clamp<std::int64_t>(options.skip, 0, count));
  const std::size_t end =
      first + std::min(size - first, options.most < 0 ? size : static_cast<std::size_t>(options.most));
  if (job.result() != sort_job::outcome::sorted) {
    call.reply.error(error_of(job.result()));
  } else {
    call.reply.array(end - first);
    for (std::size_t i = first; i != end; ++i) {
      call.reply.bulk(sorted[i].text);
      if (now.spent(sorted[i].text.size())) {
        co_yield step::more;
      }
    }
  }
  // Giving memory back is work, too, most of it the kernel's: milliseconds for a million elements.
  constexpr std::size_t page = 4096, at_once = 32 * page;
  auto* at = reinterpret_cast<char*>(items.get());
  at += page - reinterpret_cast<std::uintptr_t>(at) % page;
  for (; at + at_once < reinterpret_cast<char*>(items.get() + 2 * size); at += at_once) {
    ::madvise(at, at_once, MADV_DONTNEED);
    co_yield step::more;
  }
  for (; copy->size() != 0; copy->drop_one()) {
    if (now.spent()) {
      co_yield step::more;
    }
  }
}

}  // namespace kv::handlers
