// The list of stack slabs, and that of signal nodes: walked while others add to it.
//
// header: include/sennit/detail/stack/append_only_list.hpp
// scene add and walk:
#include "sennit/detail/stack/append_only_list.hpp"

#include "weak.hpp"

struct node {
  node* next = nullptr;
  int content = 0;
};
constinit sennit::detail::append_only_list<node, weak::memory> list;
constinit node nodes[2];

int length() {
  int n = 0;
  for (const node* it = list.newest(); it != nullptr; it = it->next) {
    assert(it->content == 1);
    ++n;
  }
  return n;
}

int main() {
  weak::run(
      [] {
        nodes[0].content = 1;
        list.add(&nodes[0]);
        assert(length() >= 1);
      },
      [] {
        nodes[1].content = 1;
        list.add(&nodes[1]);
      },
      [] {
        const int first = length();
        assert(length() >= first);
      });
  assert(length() == 2);
}
