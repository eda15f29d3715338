// Runs every operation with every kind of call failing, at each call, once and from then on.
//
//   injection [OPERATION...]     prints how many tries there were, how many failures were injected, and how
//   many
//                                tries were right; fails if one was wrong
//   injection --planted          succeeds if each planted bug is found
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "injection.hpp"

namespace injection {
namespace {

enum class verdict { right, killed, hung, wrong_error, not_usable, leaked };
constexpr const char* verdict_texts[] = {
    "right", "ended the process", "hung", "reported another error", "is not usable afterwards", "leaked"};

// A forked child's: shared with the parent.
struct report {
  trial tried;
  trial after;
  balance left;   // beside what there was at first
  balance again;  // after more tries like it
  bool finished;
};

struct totals {
  std::atomic<long> tries, injected, right, wrong;
};

report* shared_report;
unsigned seconds_for_a_try = 4;
totals* sums;

template <class T>
T* share() {
  void* const memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : ::new (memory) T{};
}

balance since(const balance& start) {
  const balance now = balance_now();
  return {now.blocks - start.blocks, now.mapped - start.mapped, now.descriptors - start.descriptors,
          now.threads - start.threads};
}

void run_both(report& to, const operation& what) {
  current = &to.tried;
  what.run();
  current = &to.after;
  what.run();
  smoke();
}

void run(report& to, const operation& what, bool warm, bool repeated) {
  const balance start = balance_now();
  if (warm)
    smoke();
  run_both(to, what);
  to.left = since(start);
  if (repeated) {
    constexpr int enough = 4;  // so that lists of idle stacks and blocks are full
    for (int i = 0; i < 2 * enough; ++i) {
      for (auto& each : to.tried.calls)
        each = 0;
      if (i == enough)
        to.left = since(start);
      run_both(to, what);
    }
    to.again = since(start);
  }
  to.finished = true;
}

// One try, in a child. Returns the status of its end. `repeated`: for reports of leaks.
int try_once(const operation& what, int kind, long first, bool on, bool warm, bool repeated = false) {
  report& to = *::new (shared_report) report{};
  to.tried.kind = kind;
  to.tried.first = first;
  to.tried.on = on;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(seconds_for_a_try);
    run(to, what, warm, repeated);
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool is_right(const trial& of) {
  switch (of.result.load()) {
    case outcome::succeeded:
      return true;
    case outcome::out_of_memory:
      return of.kind == static_cast<int>(call_kind::memory) || of.kind == static_cast<int>(call_kind::map) ||
             of.kind == static_cast<int>(call_kind::thread_key);
    case outcome::system_error: {
      // A thread that cannot be created is EAGAIN, whatever it lacked; memory may be missing anywhere.
      const int code = of.code;
      return code == kind_texts[static_cast<std::size_t>(of.kind)].error || code == ENOMEM || code == EAGAIN;
    }
    default:
      return false;
  }
}

bool leaks(const balance& left, const balance& most) {
  return left.blocks > most.blocks || left.mapped > most.mapped || left.descriptors > most.descriptors ||
         left.threads > most.threads;
}

verdict judge(int status, const balance& most) {
  const report& of = *shared_report;
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM              ? verdict::hung
           : of.tried.result == outcome::unfinished ? verdict::killed
                                                    : verdict::not_usable;
  if (of.tried.result == outcome::unfinished)
    return verdict::killed;
  if (!is_right(of.tried))
    return verdict::wrong_error;
  if (!of.finished || of.after.result != outcome::succeeded)
    return verdict::not_usable;
  return leaks(of.left, most) ? verdict::leaked : verdict::right;
}

// Without failures: the calls that it makes, and the most that it leaves behind (threads make both vary).
bool survey(const operation& what, bool warm, std::array<long, call_kinds>& calls, balance& most) {
  for (int i = 0; i < 4; ++i) {
    const int status = try_once(what, -1, 0, false, warm);
    const report& of = *shared_report;
    if (status != 0 || !of.finished || of.tried.result != outcome::succeeded) {
      std::printf("%s: fails without an injected failure (%s, status %d, outcome %d, code %d)\n",
                  what.name.data(), warm ? "warm" : "cold", status, static_cast<int>(of.tried.result.load()),
                  of.tried.code.load());
      return false;
    }
    for (std::size_t kind = 0; kind < call_kinds; ++kind)
      calls[kind] = std::max(calls[kind], of.tried.calls[kind].load());
    most.blocks = std::max(most.blocks, of.left.blocks);
    most.mapped = std::max(most.mapped, of.left.mapped);
    most.descriptors = std::max(most.descriptors, of.left.descriptors);
    most.threads = std::max(most.threads, of.left.threads);
  }
  return true;
}

void describe(const operation& what, std::size_t kind, long number, bool on, bool warm, verdict found,
              const balance& most) {
  const report& of = *shared_report;
  std::printf("wrong: %s, %s process: %s fails at call %ld%s: the operation %s", what.name.data(),
              warm ? "warm" : "new", kind_texts[kind].name.data(), number, on ? " and later" : "",
              verdict_texts[static_cast<int>(found)]);
  if (found == verdict::wrong_error || found == verdict::not_usable)
    std::printf(" (outcome %d, code %d)", static_cast<int>(of.tried.result.load()), of.tried.code.load());
  if (found == verdict::leaked)
    std::printf(" (blocks %+ld, bytes mapped %+ld, descriptors %+ld, threads %+ld)",
                of.left.blocks - most.blocks, of.left.mapped - most.mapped,
                of.left.descriptors - most.descriptors, of.left.threads - most.threads);
  std::printf("\n");
}

// A failure changes the sizes of later mappings (a smaller slab of stacks, then more of them). So more bytes
// mapped than usual are a leak only if more tries make them grow.
bool grows(const operation& what, std::size_t kind, long number, bool on, bool warm) {
  const int status = try_once(what, static_cast<int>(kind), number, on, warm, true);
  return status != 0 || !shared_report->finished || leaks(shared_report->again, shared_report->left);
}

// A try that leaks is repeated: threads make the balance vary, but not three times.
bool passes(const operation& what, std::size_t kind, long number, bool on, bool warm, balance most) {
  verdict found = verdict::right;
  for (int i = 0; i < 3; ++i) {
    const int status = try_once(what, static_cast<int>(kind), number, on, warm);
    found = judge(status, most);
    if (found != verdict::leaked)
      break;
  }
  if (found == verdict::leaked && shared_report->left.mapped > most.mapped &&
      !grows(what, kind, number, on, warm))
    found = verdict::right;
  ++sums->tries;
  sums->injected += shared_report->tried.injected > 0;
  if (found == verdict::right) {
    ++sums->right;
    return true;
  }
  ++sums->wrong;
  describe(what, kind, number, on, warm, found, most);
  return false;
}

// Returns how many of its tries were wrong.
long run_operation(const operation& what) {
  long wrong = 0;
  for (const bool warm : {false, true}) {
    std::array<long, call_kinds> calls{};
    balance most;
    if (!survey(what, warm, calls, most)) {
      ++sums->wrong;
      ++wrong;
      continue;
    }
    for (std::size_t kind = 0; kind < call_kinds; ++kind)
      for (long number = 1; number <= calls[kind]; ++number)
        for (const bool on : {false, true})
          wrong += !passes(what, kind, number, on, warm, most);
  }
  return wrong;
}

// Each of two processes takes the operations that the other has not.
void run_all(const std::vector<operation>& all) {
  auto* const next = share<std::atomic<std::size_t>>();
  std::vector<pid_t> helpers;
  for (long i = 0; i < std::min(4L, ::sysconf(_SC_NPROCESSORS_ONLN)); ++i) {
    const pid_t helper = ::fork();
    if (helper != 0) {
      helpers.push_back(helper);
      continue;
    }
    shared_report = share<report>();
    for (std::size_t at = (*next)++; at < all.size(); at = (*next)++)
      run_operation(all[at]);
    std::fflush(stdout);
    ::_exit(0);
  }
  for (const pid_t each : helpers) {
    int status = 0;
    ::waitpid(each, &status, 0);
    sums->wrong += status != 0;
  }
}

int find_planted() {
  seconds_for_a_try = 1;  // one of them hangs
  int missed = 0;
  for (const operation& each : planted)
    if (run_operation(each) == 0) {
      ++missed;
      std::printf("not found: %s\n", each.name.data());
    }
  std::printf("injection: %zu planted bugs, %zu found\n", planted.size(),
              planted.size() - static_cast<std::size_t>(missed));
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace injection

int main(int count, char** arguments) {
  using namespace injection;
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  shared_report = share<report>();
  sums = share<totals>();
  if (count == 2 && std::strcmp(arguments[1], "--planted") == 0)
    return find_planted();
  std::vector<operation> all;
  add_operations(all);
  add_fiber_operations(all);
  add_io_operations(all);
  add_c_operations(all);
  if (count > 1)
    std::erase_if(all, [&](const operation& each) {
      return std::none_of(arguments + 1, arguments + count,
                          [&](const char* wanted) { return each.name.find(wanted) != each.name.npos; });
    });
  run_all(all);
  std::printf("injection: %zu operations, %ld tries, %ld injected, %ld right, %ld wrong\n", all.size(),
              sums->tries.load(), sums->injected.load(), sums->right.load(), sums->wrong.load());
  return sums->wrong == 0 && sums->tries > 0 ? 0 : 1;
}
