// A worker that sleeps, and threads that post to it; or others that take the posts.
//
// header: include/sennit/detail/sched/inbox.hpp
// scene 1 thread posts 2: -DPOSTERS=1 -DPOSTS=2
// scene 2 threads post: -DPOSTERS=2 -DPOSTS=1
// scene 3 take: -DTAKERS
// scene no second look: -DPOSTERS=1 -DPOSTS=1 -DNO_SECOND_LOOK  fails
// scene second look too early: -DPOSTERS=1 -DPOSTS=1 -DTOO_EARLY  fails
#include "sennit/detail/sched/inbox.hpp"

#include "weak.hpp"

struct post {
  post* next = nullptr;
  int number = 0;
};
constinit sennit::detail::inbox<post, weak::memory> in;
constinit post posts[2];

#if defined(TAKERS)

void take() {
  for (post* p = in.take(); p != nullptr;) {
    post* const next = p->next;
    ++p->number;
    p = next;
  }
}

int main() {
  const auto push_and_take = [](post* p) {
    static_cast<void>(in.push(p));
    take();
  };
  weak::run([&] { push_and_take(&posts[0]); }, [&] { push_and_take(&posts[1]); }, take);
  take();
  assert(posts[0].number == 1 && posts[1].number == 1);
}

#else

constinit weak::gate driver;

void work() {
  int last[POSTERS] = {};
  int got = 0;
  in.mark_awake();
  for (;;) {
    if (!in.empty())
      for (post* p = in.take(); p != nullptr;) {
        post* const next = p->next;
        const int number = p->number;
        assert(number > 0);
        assert(number % 10 == last[number / 10] + 1);  // each thread's in its order
        last[number / 10] = number % 10;
        p->number = 0;  // it disposes of itself
        ++got;
        p = next;
      }
    if (got == POSTERS * POSTS)
      return;
#if defined(TOO_EARLY)
    const bool early = in.still_empty();
    in.mark_asleep();
    if (early)
      driver.wait();
#elif defined(NO_SECOND_LOOK)
    in.mark_asleep();
    driver.wait();
#else
    in.mark_asleep();
    if (in.still_empty())
      driver.wait();
#endif
    in.mark_awake();
  }
}

template <int Poster>
void post_all() {
  for (int i = 0; i < POSTS; ++i) {
    post& p = posts[Poster * POSTS + i];
    p.number = 10 * Poster + i + 1;
    if (in.push(&p))
      driver.signal();
  }
}

int main() {
#if POSTERS == 2
  weak::run(work, post_all<0>, post_all<1>);
#else
  weak::run(work, post_all<0>);
#endif
  assert(in.empty());
}

#endif
