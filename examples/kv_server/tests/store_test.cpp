// The store against std::map, its memory account, and its table while it grows and shrinks.
#include "store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace kv {
namespace {

std::string name(std::size_t number) {
  return "key:" + std::to_string(number);
}

// The string at a key; nullptr: no such key.
const std::string* find(store& keys, std::string_view key) {
  const any_value* found = keys.find(key);
  return found == nullptr ? nullptr : get_as<std::string>(*found);
}

TEST(store, sets_finds_and_erases) {
  store keys;
  EXPECT_EQ(keys.find("a"), nullptr);
  keys.set("a", "1");
  ASSERT_NE(keys.find("a"), nullptr);
  EXPECT_EQ(*find(keys, "a"), "1");
  keys.set("a", "2");
  EXPECT_EQ(*find(keys, "a"), "2");
  EXPECT_EQ(keys.size(), 1U);
  EXPECT_TRUE(keys.erase("a"));
  EXPECT_FALSE(keys.erase("a"));
  EXPECT_EQ(keys.find("a"), nullptr);
  EXPECT_EQ(keys.size(), 0U);
}

TEST(store, keys_and_values_are_binary_safe) {
  store keys;
  const std::string_view with_zero("a\0b", 3);
  keys.set(with_zero, with_zero);
  keys.set("a", "other");
  keys.set("", "empty");
  EXPECT_EQ(*find(keys, with_zero), with_zero);
  EXPECT_EQ(*find(keys, "a"), "other");
  EXPECT_EQ(*find(keys, ""), "empty");
}

TEST(store, behaves_as_a_map) {
  store keys;
  std::map<std::string, std::string> model;
  std::mt19937 random(7);
  for (int round = 0; round < 300000; ++round) {
    // The number of keys swings between few and many, so that the table moves both ways.
    const std::size_t range = round / 50000 % 2 == 0 ? 20000 : 50;
    const std::string key = name(random() % range);
    switch (random() % 4) {
      case 0:
      case 1: {
        const std::string value(random() % 40, 'v');
        keys.set(key, value);
        model[key] = value;
        break;
      }
      case 2:
        ASSERT_EQ(keys.erase(key), model.erase(key) == 1);
        break;
      default: {
        const std::string* found = find(keys, key);
        const auto expected = model.find(key);
        ASSERT_EQ(found != nullptr, expected != model.end());
        ASSERT_TRUE(found == nullptr || *found == expected->second);
      }
    }
    ASSERT_EQ(keys.size(), model.size());
  }
  for (const auto& [key, value] : model) {
    ASSERT_NE(keys.find(key), nullptr);
    ASSERT_EQ(*find(keys, key), value);
  }
}

TEST(store, memory_is_accounted_and_given_back) {
  store keys;
  const std::size_t empty = keys.used_memory();
  const std::string big(1 << 20, 'x');
  keys.set("big", big);
  EXPECT_GE(keys.used_memory(), empty + big.size());
  keys.set("big", "small");
  EXPECT_LT(keys.used_memory(), empty + 1024);
  EXPECT_TRUE(keys.erase("big"));
  EXPECT_EQ(keys.used_memory(), empty);

  constexpr std::size_t count = 100000;
  for (std::size_t i = 0; i < count; ++i) {
    keys.set(name(i), "0123456789012345678901234567890123456789");
  }
  EXPECT_GE(keys.used_memory(), count * 80);
  EXPECT_LT(keys.used_memory(), count * 200);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(keys.erase(name(i)));
  }
  for (int i = 0; i < 100000; ++i) {  // whatever move is left
    keys.find("nothing");
  }
  EXPECT_EQ(keys.used_memory(), empty);
}

TEST(store, an_edit_keeps_the_account_and_removes_what_is_empty) {
  store keys;
  const std::size_t empty = keys.used_memory();
  {
    store::edit edit(keys, "l");
    EXPECT_EQ(edit.get(), nullptr);
    get_as<list_value>(edit.create(make_value<list_value>()))->push(list_end::left, std::string(1000, 'x'));
  }
  EXPECT_GE(keys.used_memory(), empty + 1000);
  const std::uint64_t before = keys.version("l");
  {
    store::edit edit(keys, "l");
    edit.unchanged();
  }
  EXPECT_EQ(keys.version("l"), before);
  {
    store::edit edit(keys, "l");
    get_as<list_value>(*edit.get())->pop(list_end::left);
  }
  EXPECT_EQ(keys.find("l"), nullptr);
  EXPECT_EQ(keys.used_memory(), empty);
}

TEST(store, a_key_that_comes_and_goes_is_seen_if_kept_in_view) {
  store keys;
  keys.keep_in_view("a");
  const std::uint64_t before = keys.version("a");
  keys.set("a", "1");
  keys.erase("a");
  EXPECT_NE(keys.version("a"), before);
  keys.lose_from_view("a");
  EXPECT_EQ(keys.version("a"), 0U);
}

TEST(store, a_scan_meets_all_that_stay) {
  store keys;
  for (std::size_t i = 0; i < 1000; ++i) {
    keys.set(name(i), "1");
  }
  std::map<std::string, int> met;
  std::uint64_t cursor = 0;
  std::size_t other = 1000;
  do {
    cursor = keys.scan(cursor, [&](std::string_view key, const any_value&) { ++met[std::string(key)]; });
    for (int i = 0; i < 30; ++i) {  // the table grows meanwhile, and shrinks
      other < 20000 ? keys.set(name(other++), "1") : keys.set("x", "1");
    }
    if (other == 20000) {
      while (other > 1000) {
        keys.erase(name(--other));
      }
      other = 20001;  // once is enough
    }
  } while (cursor != 0);
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_GE(met[name(i)], 1) << i;
  }
}

TEST(store, removed_values_are_destroyed_some_elements_at_a_time) {
  store keys;
  const std::size_t empty = keys.used_memory();
  const auto fill = [&] {
    for (std::size_t i = 0; i < 1000; ++i) {
      keys.set(name(i), "1");
      store::edit edit(keys, "list");
      any_value* found = edit.get();
      auto& list = *get_as<list_value>(found != nullptr ? *found : edit.create(make_value<list_value>()));
      list.push(list_end::right, std::string(100, 'x'));
    }
  };
  const auto count_steps = [&] {
    int steps = 1;
    for (; keys.destroy_garbage(100); ++steps) {
    }
    return steps;
  };
  fill();
  const std::size_t full = keys.used_memory();
  EXPECT_TRUE(keys.erase("list"));
  EXPECT_EQ(keys.find("list"), nullptr);
  EXPECT_GT(keys.used_memory() + 1000, full);  // it still counts
  EXPECT_EQ(count_steps(), 10);
  EXPECT_LT(keys.used_memory() + 100000, full);
  fill();
  keys.set("list", "x");
  EXPECT_EQ(count_steps(), 10);
  keys.erase("list");
  fill();
  keys.clear();
  EXPECT_EQ(keys.size(), 0U);
  EXPECT_GE(count_steps(), 20);
  EXPECT_EQ(keys.used_memory(), empty);
}

TEST(siphash, gives_the_published_value) {
  const siphash_key key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const std::string_view input("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15);
  EXPECT_EQ((siphash<2, 4>(key)(input)), 0xa129ca6149be45e5U);
}

}  // namespace
}  // namespace kv
