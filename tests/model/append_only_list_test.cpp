// The list of stack slabs, and that of signal nodes: walked while others add to it.
#include "sennit/detail/stack/append_only_list.hpp"

#include "model.hpp"

namespace {

struct node {
  model::plain<node*> next = nullptr;
  model::plain<int> content = 0;
};

void add_and_walk(model::run& run) {
  sennit::detail::append_only_list<node, model::memory> list;
  node nodes[3];
  const auto length = [&] {
    int n = 0;
    for (node* it = list.newest(); it != nullptr; it = it->next) {
      MODEL_CHECK(it->content == 1);
      ++n;
    }
    return n;
  };
  run.thread([&] {
    nodes[0].content = 1;
    list.add(&nodes[0]);
    nodes[1].content = 1;
    list.add(&nodes[1]);
    MODEL_CHECK(length() >= 2);
  });
  run.thread([&] {
    nodes[2].content = 1;
    list.add(&nodes[2]);
  });
  run.thread([&] {
    const int first = length();
    MODEL_CHECK(length() >= first);
  });
  run.join();
  MODEL_CHECK(length() == 3);
}

TEST(append_only_list, is_whole_whenever_it_is_walked) {
  const model::weakened w = model::weaken_each("append-only list", "append_only_list.hpp", {}, add_and_walk);
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.tried, 2U);
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

}  // namespace
