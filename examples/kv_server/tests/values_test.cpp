// The collections against the standard containers, and their memory accounts.
#include "value.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace kv {
namespace {

std::string member_name(std::size_t number) {
  return "member:" + std::to_string(number) + std::string(number % 40, 'x');
}

TEST(member_table, behaves_as_a_map) {
  member_table<std::string> table;
  std::map<std::string, std::string> model;
  std::mt19937 random(5);
  for (int round = 0; round < 200000; ++round) {
    const std::size_t range = round / 40000 % 2 == 0 ? 3000 : 20;
    const std::string key = member_name(random() % range);
    if (random() % 3 != 0) {
      const std::string text(random() % 60, 'v');
      ASSERT_EQ(table.set(key, text), model.insert_or_assign(key, text).second);
    } else {
      ASSERT_EQ(table.erase(key), model.erase(key) == 1);
    }
    ASSERT_EQ(table.size(), model.size());
  }
  for (const auto& [key, text] : model) {
    ASSERT_NE(table.find(key), nullptr);
    EXPECT_EQ(*table.find(key), text);
  }
  std::size_t least = 0;
  for (const auto& item : table) {
    EXPECT_EQ(model.at(item.name), item.content);
    least += item.name.size() + item.content.size();
  }
  EXPECT_GE(table.memory(), least);
  while (table.size() != 0) {
    table.erase_at(random() % table.size());
  }
  EXPECT_LT(table.memory(), 64U * 1024);
}

TEST(member_table, keeps_the_order_while_it_is_small) {
  member_table<nothing> table;
  for (std::size_t i = 0; i < 500; ++i) {
    table.set(member_name(i), {});
  }
  table.erase(member_name(0));
  table.erase(member_name(250));
  std::vector<std::string> found;
  for (const auto& item : table) {
    found.push_back(item.name);
  }
  ASSERT_EQ(found.size(), 498U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], member_name(i < 249 ? i + 1 : i + 2));
  }
}

TEST(list_value, behaves_as_a_deque_and_accounts_for_its_texts) {
  list_value list;
  std::deque<std::string> model;
  std::mt19937 random(6);
  const std::size_t empty = list.memory();
  for (int round = 0; round < 20000; ++round) {
    const std::string text = member_name(random() % 50);
    switch (random() % 6) {
      case 0:
        list.push(list_end::left, text);
        model.push_front(text);
        break;
      case 1:
      case 2:
        list.push(list_end::right, text);
        model.push_back(text);
        break;
      case 3:
        if (!model.empty()) {
          ASSERT_EQ(list.pop(list_end::left), model.front());
          model.pop_front();
        }
        break;
      case 4:
        if (!model.empty()) {
          const std::size_t at = random() % model.size();
          list.assign(at, text);
          model[at] = text;
        }
        break;
      default:
        const std::size_t before = model.size();
        std::erase(model, text);
        ASSERT_EQ(list.erase_equal(text, before, random() % 2 == 0 ? list_end::left : list_end::right),
                  before - model.size());
    }
    ASSERT_EQ(list.size(), model.size());
  }
  for (std::size_t i = 0; i < model.size(); ++i) {
    ASSERT_EQ(list[i], model[i]);
  }
  list.insert(1, "inserted");
  EXPECT_EQ(list[1], "inserted");
  list.keep(1, 1);
  EXPECT_EQ(list.size(), 1U);
  list.pop(list_end::right);
  EXPECT_EQ(list.memory(), empty);
}

TEST(sorted_set_value, behaves_as_a_set_of_pairs) {
  sorted_set_value set;
  std::map<std::string, double> scores;
  std::set<std::pair<double, std::string>> order;
  std::mt19937 random(8);
  for (int round = 0; round < 30000; ++round) {
    const std::string member = member_name(random() % 300);
    const double score = static_cast<double>(random() % 20);
    const auto old = scores.find(member);
    if (old != scores.end()) {
      order.erase({old->second, member});
    }
    if (random() % 3 != 0) {
      ASSERT_EQ(set.set(member, score), old == scores.end());
      scores[member] = score;
      order.insert({score, member});
    } else {
      ASSERT_EQ(set.erase(member), old != scores.end());
      scores.erase(member);
    }
    ASSERT_EQ(set.size(), order.size());
  }
  std::size_t rank = 0;
  for (const auto& [score, member] : order) {
    EXPECT_EQ(set.rank(member, score), rank);
    EXPECT_EQ(set.at(rank)->second, member);
    EXPECT_EQ(*set.score(member), score);
    ++rank;
  }
  while (set.size() != 0) {
    set.erase(random() % set.size());
  }
  EXPECT_LT(set.memory(), 16U * 1024);
}

TEST(set_value, knows_whether_it_holds_integers) {
  set_value set;
  EXPECT_TRUE(set.add("1"));
  EXPECT_TRUE(set.add("-9223372036854775808"));
  EXPECT_TRUE(set.is_integers());
  EXPECT_TRUE(set.add("01"));
  EXPECT_FALSE(set.is_integers());
}

}  // namespace
}  // namespace kv
