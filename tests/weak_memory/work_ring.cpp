// An owner that pushes and pops while others steal: each item is taken once, none is lost, and none is taken
// before its context is there. A step is a letter, as in tests/model/work_ring_test.cpp:
//
//   the owner   + pushes    - pops the oldest   < pops the newest    r goes round   y pushes one that leaves
//               s puts one into the next slot   t takes it from there
//   a thief     H half      o the only one      L late               (H and L without a look before)
//
// (A `loot` is returned in memory here: GenMC knows no two words in a register.)
//
// clang-format off
// header: include/sennit/detail/parallel/work_ring.hpp
// replace: index count; by: index count; std::uintptr_t unused[2];
// survives: occupant != T() && !loot_next_slot_ && leaving_.load(std::memory_order_acquire) != occupant; -> relaxed
// scene pops: -DOWNER='"--"' -DTHIEF='"H"' -DBEFORE=2
// scene pushes and pops: -DOWNER='"-+-"' -DTHIEF='"H"' -DBEFORE=2
// scene 2 thefts: -DOWNER='"-+-"' -DTHIEF='"HH"' -DBEFORE=2
// scene 2 thieves: -DOWNER='"-"' -DTHIEF='"H"' -DTHIEF2='"H"' -DBEFORE=3
// scene newest: -DOWNER='"<"' -DTHIEF='"L"' -DBEFORE=1
// scene newest and pushes: -DOWNER='"<+<"' -DTHIEF='"L"' -DBEFORE=1
// scene newest, 2 thieves: -DOWNER='"<"' -DTHIEF='"H"' -DTHIEF2='"L"' -DBEFORE=2
// scene the only one: -DOWNER='"-"' -DTHIEF='"o"' -DBEFORE=1
// scene pushed and popped: -DOWNER='"++<"' -DTHIEF='"L"' -DBEFORE=0
// scene slot: -DOWNER='"st"' -DTHIEF='"L"' -DBEFORE=0
// scene slot twice: -DOWNER='"sts"' -DTHIEF='"L"' -DBEFORE=0
// scene leaving: -DOWNER='"y"' -DTHIEF='"L"' -DBEFORE=0
// scene leaving twice: -DOWNER='"yy"' -DTHIEF='"L"' -DBEFORE=0
// scene round: -DOWNER='"rr"' -DTHIEF='"H"' -DBEFORE=2
// scene round, leaving: -DOWNER='"r"' -DTHIEF='"L"' -DBEFORE=1
// clang-format on
#include "sennit/detail/parallel/work_ring.hpp"

#include "weak.hpp"

struct stealable : sennit::detail::work_ring<int, 4, weak::memory> {
  using work_ring::take_half;
  using work_ring::take_late;
};
constinit stealable ring;
int contexts[9];
int taken[9];
int made = 0;
constinit std::atomic<int> in_all{0};

bool take(int item) {
  if (item == 0)
    return false;
  assert(item >= 1 && item <= 8);
  assert(contexts[item] == 1);
  assert(taken[item] == 0);
  taken[item] = 1;
  in_all.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void push() {
  contexts[made + 1] = 1;
  if (ring.push(made + 1))
    ++made;
}

void act(char what) {
  if (what == '+') {
    push();
  } else if (what == '-') {
    take(ring.pop());
  } else if (what == '<') {
    const int named = ring.newest();
    const int item = ring.pop_newest();
    assert(item == named || item == 0);
    take(item);
  } else if (what == 's') {
    contexts[++made] = 1;
    if (const int displaced = ring.put_next_slot(made)) {
      const bool pushed = ring.push(displaced);
      assert(pushed);
    }
  } else if (what == 't') {
    take(ring.take_next_slot());
  } else if (what == 'r') {
    const int oldest = ring.rotate(made + 1);
    if (oldest != made + 1) {
      contexts[++made] = 1;
      ring.clear_leaving();
      const bool had = take(oldest);
      assert(had);
    }
  } else if (what == 'y') {
    ring.mark_leaving(made + 1);
    if (ring.push(made + 1))
      contexts[++made] = 1;
    ring.clear_leaving();
  }
}

void own() {
  for (const char* what = OWNER; *what != '\0'; ++what)
    act(*what);
  while (take(ring.pop())) {
  }
  take(ring.take_next_slot());
  assert(ring.owned() == 0 && ring.newest() == 0 && !ring.next_slot_taken());
}

void steal(const char* what) {
  auto one = [](int item) { take(item); };
  for (; *what != '\0'; ++what) {
    if (*what == 'H')
      ring.take_half(one);
    else if (*what == 'o')
      ring.steal_lone(one);
    else
      ring.take_late(one);
  }
}

int main() {
  for (int i = 0; i < BEFORE; ++i)
    push();
#if defined(THIEF2)
  weak::run(own, [] { steal(THIEF); }, [] { steal(THIEF2); });
#else
  weak::run(own, [] { steal(THIEF); });
#endif
  assert(in_all.load(std::memory_order_relaxed) == made);
  assert(ring.pop() == 0 && ring.pop_newest() == 0 && ring.take_next_slot() == 0);
}
