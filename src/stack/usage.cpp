// How deep stacks have been: what is not zero has been written to. Pages that were never touched are not
// looked at; a stack is made zero where it is to be measured for a new user.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "sennit/detail/stack/sanitizer.hpp"
#include "sennit/detail/stack/stack.hpp"
#include "sennit/stacks.hpp"
#include "stack/guard.hpp"

namespace sennit::inline v0_1 {

namespace detail {

namespace {

using usage_key = std::pair<std::string, std::string>;  // kind, name

struct usage_table {
  std::mutex lock;
  std::map<usage_key, stack_usage> ended;
};
usage_table& table() {
  static auto* const only = new usage_table;
  return *only;
}

// The first word in [from, to) that is not zero, or `to`. Stacks of others change meanwhile.
SENNIT_UNSANITIZED const char* first_written(const char* from, const char* to) noexcept {
  for (; from < to; from += sizeof(std::uintptr_t))
    if (*reinterpret_cast<const volatile std::uintptr_t*>(from) != 0)
      return from;
  return to;
}

// A fiber's name, which may be changing.
struct copied_name {
  char text[32];
};
SENNIT_UNSANITIZED copied_name name_of(const stack_record& record) noexcept {
  copied_name copy{};
  const volatile char* const name = *const_cast<const char* const volatile*>(&record.name);
  for (std::size_t i = 0; name != nullptr && i + 1 != sizeof copy.text && name[i] != 0; ++i)
    copy.text[i] = name[i];
  return copy;
}

char* page_of(char* address) noexcept {
  return address - reinterpret_cast<std::uintptr_t>(address) % kernel_page_size();
}

void add(std::map<usage_key, stack_usage>& to, const char* kind, const char* name, std::size_t size,
         std::size_t depth) {
  stack_usage& all = to[{kind, name}];
  all.kind = kind;
  all.name = name;
  ++all.count;
  all.size = std::max(all.size, size);
  all.high_water = std::max(all.high_water, depth);
}

}  // namespace

std::size_t stack_depth(const stack_memory& memory, const stack_record& record) noexcept {
  constexpr std::size_t at_once = 256;
  const std::size_t page_bytes = kernel_page_size();
  constexpr std::uintptr_t above_record = 64;  // the frame that it is a part of; then comes the colour
  const auto top = reinterpret_cast<std::uintptr_t>(&record + 1) + above_record;
  const auto highest = reinterpret_cast<std::uintptr_t>(memory.high());
  char* const low = memory.low + (stack_has_seal(memory) ? stack_seal_size : 0);
  std::array<unsigned char, at_once> present;
  for (char* page = page_of(low); page < memory.high();) {
    const std::size_t left = static_cast<std::size_t>(memory.high() - page + page_bytes - 1) / page_bytes;
    const std::size_t count = std::min(left, at_once);
    if (::mincore(page, count * page_bytes, present.data()) != 0)
      present.fill(1);
    for (std::size_t i = 0; i < count; ++i, page += page_bytes) {
      char* const end = std::min(page + page_bytes, memory.high());
      const char* const written = (present[i] & 1) != 0 ? first_written(std::max(page, low), end) : end;
      if (written != end)
        return (top - 1 < highest ? top : highest) - reinterpret_cast<std::uintptr_t>(written);
    }
  }
  return 0;
}

void stack_clear_below(const stack_memory& memory, const void* used) noexcept {
  auto* const end = const_cast<char*>(static_cast<const char*>(used));
  char* low = memory.low + (stack_has_seal(memory) ? stack_seal_size : 0);
  if (stack_trim_below(memory, used))
    low = std::max(low, page_of(end));
  forget_frames(low, static_cast<std::size_t>(end - low));
  std::memset(low, 0, static_cast<std::size_t>(end - low));
}

void stack_user_ended(const stack_record& record) noexcept {
  stack_must_be_whole(record.memory, &record);
  if (!stacks_are_measured.load(std::memory_order_relaxed) || record.name == nullptr || record.name[0] == 0)
    return;
  try {
    const std::size_t depth = stack_depth(record.memory, record);
    const std::lock_guard hold(table().lock);
    add(table().ended, record.kind, record.name, stack_reported_size(record.memory), depth);
  } catch (const std::bad_alloc&) {  // it is not counted
  }
}

}  // namespace detail

std::size_t stack_usage::enough() const noexcept {
  return high_water + std::max<std::size_t>(high_water / 4, 256);
}

std::string stack_usage::advice() const {
  const std::string who = kind + (name.empty() ? "s without a name" : " \"" + name + "\"");
  std::string text = who + ": " + std::to_string(count) + " with stacks of " + std::to_string(size) +
                     " bytes, of which " + std::to_string(high_water) + " were used";
  std::size_t wanted = detail::stack_class(small_stack(enough()));
  if (wanted >= detail::page_size)
    wanted = std::max(wanted, detail::kernel_page_size());
  if (wanted == size || (size < wanted && enough() <= size))  // that one is no class: it was brought
    return text + ": that is right";
  const std::string number = std::to_string(wanted);
  text += wanted < size ? ": less would do, " : ": little is left, ";
  text += ".stack_size = " + (wanted < detail::minimum_stack_size ? "small_stack(" + number + ")" : number);
  if (kind == "fiber" && name == "main")
    text += " in runtime_options";
  return wanted < detail::page_size ? text + ", which has no guard page" : text;
}

void measure_stacks(bool on) noexcept {
  detail::stacks_are_measured.store(on, std::memory_order_relaxed);
}

std::vector<stack_usage> stack_usages() {
  detail::usage_table& ended = detail::table();
  std::map<detail::usage_key, stack_usage> all;
  {
    const std::lock_guard hold(ended.lock);
    all = ended.ended;
  }
  detail::stack_for_each_record(
      [](void* to, const detail::stack_memory& memory, const detail::stack_record& record) {
        detail::add(*static_cast<decltype(all)*>(to), record.kind, detail::name_of(record).text,
                    detail::stack_reported_size(memory), detail::stack_depth(memory, record));
      },
      &all);
  std::vector<stack_usage> sorted;
  for (auto& [key, usage] : all)
    sorted.push_back(std::move(usage));
  return sorted;
}

std::size_t stack_high_water() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const detail::stack_record* on = detail::stack_find(here).record;
  while (on != nullptr && !on->memory.holds(here))
    on = on->lent;
  return on != nullptr ? detail::stack_depth(on->memory, *on) : 0;
}

}  // namespace sennit::inline v0_1
