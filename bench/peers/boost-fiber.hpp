// Boost.Fiber, as the workloads use a library of threads: its default scheduler (round_robin, one kernel
// thread), stacks from its pool.
#pragma once

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>

#include "../support/distinct.hpp"
#include "bare_mutex_condition.hpp"
#include "boost.hpp"

namespace bench {

template <boost::fibers::launch Launch = boost::fibers::launch::post>
struct boost_fibers {
  static std::string version() { return boost_version(); }

  template <class Main>
  static void run(Main&& main) {
    main();
  }

  class fiber {
  public:
    explicit fiber(entry start, void* argument, std::size_t stack_size = 64 * 1024)
        : fiber_(Launch, std::allocator_arg, pool(stack_size), [start, argument] { start(argument); }) {}
    void join() { fiber_.join(); }

  private:
    // A program uses one size.
    static boost::fibers::pooled_fixedsize_stack& pool(std::size_t stack_size) {
      static boost::fibers::pooled_fixedsize_stack stacks(stack_size);
      return stacks;
    }

    boost::fibers::fiber fiber_;
  };

  static void yield() { boost::this_fiber::yield(); }

  using mutex = boost::fibers::mutex;

  using condition_variable = bare_mutex_condition<boost::fibers::condition_variable, mutex>;
};

}  // namespace bench
