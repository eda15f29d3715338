// The store against a standard map, its memory account, and the destruction of removed values.
#include "store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "siphash.hpp"

namespace kv {
namespace {

std::string name(std::size_t number) {
  return std::string(number % 7, '\0') + "key:" + std::to_string(number);
}

TEST(store, behaves_as_a_map_and_accounts_for_its_memory) {
  store keys;
  const std::size_t empty = keys.used_memory();
  std::map<std::string, std::string> model;
  std::mt19937 random(7);
  for (int round = 0; round < 300000; ++round) {
    // The number of keys swings between few and many, so that the tables grow and shrink.
    const std::string key = name(random() % (round / 50000 % 2 == 0 ? 40000 : 50));
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
        const any_value* found = keys.find(key);
        const auto expected = model.find(key);
        ASSERT_EQ(found != nullptr, expected != model.end());
        ASSERT_TRUE(found == nullptr || *get_as<std::string>(*found) == expected->second);
      }
    }
    ASSERT_EQ(keys.size(), model.size());
  }
  EXPECT_GT(model.size(), 5000U);
  EXPECT_GE(keys.used_memory(), model.size() * 60);
  keys.for_each_key([&](std::string_view key) { EXPECT_EQ(model.erase(std::string(key)), 1U); });
  EXPECT_TRUE(model.empty());
  std::vector<std::string> all;
  keys.for_each_key([&](std::string_view key) { all.emplace_back(key); });
  for (const std::string& key : all) {
    EXPECT_TRUE(keys.erase(key));
  }
  EXPECT_EQ(keys.used_memory(), empty);
}

TEST(store, an_edit_keeps_the_account_removes_what_is_empty_and_sets_the_flags_of_watchers) {
  store keys;
  bool changed = false;
  keys.watch("l", changed);
  {
    store::edit edit(keys, "l");
    EXPECT_EQ(edit.get(), nullptr);
    get_as<list_value>(edit.create(make_value<list_value>()))->push(list_end::left, std::string(1000, 'x'));
  }
  EXPECT_TRUE(std::exchange(changed, false));
  EXPECT_GE(keys.used_memory(), 1000U);
  store::edit(keys, "l").unchanged();
  keys.set("other", "x");
  EXPECT_FALSE(changed);
  {
    store::edit edit(keys, "l");
    get_as<list_value>(*edit.get())->pop(list_end::left);
  }
  EXPECT_TRUE(std::exchange(changed, false));
  EXPECT_EQ(keys.find("l"), nullptr);
  keys.clear();
  EXPECT_FALSE(changed);  // it was not there
  keys.unwatch("l", changed);
  keys.set("l", "x");
  EXPECT_FALSE(changed);
}

TEST(store, removed_values_are_destroyed_some_elements_at_a_time) {
  store keys;
  const auto fill = [&] {
    for (std::size_t i = 0; i < 1000; ++i) {
      keys.set(name(i), "1");
    }
    auto list = std::make_unique<list_value>();
    for (int i = 0; i < 1000; ++i) {
      list->push(list_end::right, std::string(100, 'x'));
    }
    keys.put("list", std::move(list));
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
  EXPECT_GT(keys.used_memory() + 1000, full);  // it still counts
  EXPECT_EQ(count_steps(), 10);
  EXPECT_LT(keys.used_memory() + 100000, full);
  for (int i = 0; i < 3; ++i) {
    fill();
    keys.clear();
    keys.destroy_garbage(100);
    EXPECT_EQ(keys.size(), 0U);
  }
  EXPECT_GE(count_steps(), 60);
  EXPECT_EQ(keys.used_memory(), 0U);
}

TEST(siphash, gives_the_published_value) {
  const siphash_key key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const std::string_view input("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15);
  EXPECT_EQ((siphash<2, 4>(key, input)), 0xa129ca6149be45e5U);
}

}  // namespace
}  // namespace kv
