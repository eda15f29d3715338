// The collections against the standard containers, and their memory accounts.
#include "value.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace kv {
namespace {

std::string member_name(std::size_t number) {
  return "member:" + std::to_string(number) + std::string(number % 40, 'x');
}

TEST(list_value, behaves_as_a_deque_and_accounts_for_its_texts) {
  list_value list;
  std::deque<std::string> model;
  std::mt19937 random(6);
  const std::size_t empty = list.memory();
  for (int round = 0; round < 20000; ++round) {
    const std::string text = member_name(random() % 50);
    const bool left = random() % 2 == 0;
    if (random() % 3 != 0) {
      list.push(left ? list_end::left : list_end::right, text);
      left ? model.push_front(text) : model.push_back(text);
    } else if (!model.empty()) {
      ASSERT_EQ(list.pop(left ? list_end::left : list_end::right), left ? model.front() : model.back());
      left ? model.pop_front() : model.pop_back();
    }
    ASSERT_EQ(list.size(), model.size());
  }
  std::size_t texts = 0;
  for (std::size_t i = 0; i < model.size(); ++i) {
    ASSERT_EQ(list[i], model[i]);
    texts += model[i].size();
  }
  EXPECT_GE(list.memory(), texts);
  while (list.size() != 0) {
    list.drop_one();
  }
  EXPECT_EQ(list.memory(), empty);
}

TEST(set_and_hash_value, behave_as_a_map_and_account_for_their_texts) {
  set_value set;
  hash_value hash;
  std::map<std::string, std::string> model;
  std::mt19937 random(5);
  const std::size_t empty = set.memory() + hash.memory();
  for (int round = 0; round < 50000; ++round) {
    const std::string name = member_name(random() % 3000), text(random() % 60, 'v');
    const bool is_new = !model.contains(name);
    ASSERT_EQ(set.add(name), is_new);
    ASSERT_EQ(hash.set(name, text), is_new);
    model[name] = text;
  }
  std::size_t rank = 0, texts = 0;
  for (const auto& [name, text] : model) {
    ASSERT_TRUE(set.contains(name));
    ASSERT_EQ(*set.at(rank++), name);
    ASSERT_EQ(*hash.find(name), text);
    texts += name.size() * 2 + text.size();
  }
  EXPECT_GE(set.memory() + hash.memory(), texts);
  EXPECT_FALSE(set.contains("missing") || set.erase("missing") || hash.find("missing") != nullptr);
  EXPECT_TRUE(set.erase(model.begin()->first));
  while (set.size() != 0) {
    set.drop_one();
  }
  while (hash.size() != 0) {
    hash.drop_one();
  }
  EXPECT_EQ(set.memory() + hash.memory(), empty);
}

TEST(set_value, knows_whether_it_holds_integers) {
  set_value set;
  EXPECT_TRUE(set.add("1"));
  EXPECT_TRUE(set.add("-9223372036854775808"));
  EXPECT_TRUE(set.is_integers());
  EXPECT_TRUE(set.add("01"));
  EXPECT_FALSE(set.is_integers());
}

TEST(sorted_set_value, behaves_as_a_set_of_pairs) {
  sorted_set_value set;
  std::map<std::string, double> scores;
  std::set<std::pair<double, std::string>> order;
  std::mt19937 random(8);
  const std::size_t empty = set.memory();
  for (int round = 0; round < 30000; ++round) {
    const std::string member = member_name(random() % 300);
    const double score = static_cast<double>(random() % 20);
    if (random() % 3 != 0) {
      const auto [old, added] = scores.try_emplace(member, score);
      order.erase({old->second, member});
      old->second = score;
      order.insert({score, member});
      ASSERT_EQ(set.set(member, score), added);
    } else if (!order.empty()) {
      scores.erase(order.begin()->second);
      order.erase(order.begin());
      set.erase_first();
    }
    ASSERT_EQ(set.size(), order.size());
  }
  std::size_t rank = 0;
  for (const auto& [score, member] : order) {
    EXPECT_EQ(set.at(rank++)->second, member);
    EXPECT_EQ(*set.score(member), score);
  }
  while (set.size() != 0) {
    set.drop_one();
  }
  EXPECT_EQ(set.memory(), empty);
}

}  // namespace
}  // namespace kv
