// Memory that a worker keeps for its fibers' continuations.
#include "sennit/detail/sched/block_pool.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <new>

namespace {

using sennit::detail::block_pool;

TEST(BlockPool, EachSizeHoldsWhatItIsFor) {
  for (std::size_t bytes = 1; bytes <= 16 * 1024; ++bytes) {
    const std::size_t size = block_pool::size_for(bytes);
    ASSERT_LT(size, block_pool::sizes) << bytes;
    EXPECT_GE(block_pool::bytes_of(size), bytes);
    if (size != 0) {
      EXPECT_LT(block_pool::bytes_of(size - 1), bytes);
    }
  }
  EXPECT_GE(block_pool::size_for(16 * 1024 + 1), block_pool::sizes);
}

TEST(BlockPool, KeepsSomeOfEachSize) {
  block_pool pool;
  for (std::size_t size = 0; size < block_pool::sizes; ++size) {
    EXPECT_EQ(pool.take(size), nullptr);
    for (unsigned i = 0; i < block_pool::most_of(size); ++i)
      ASSERT_TRUE(pool.keep(::operator new(block_pool::bytes_of(size)), size));
    void* const one_more = ::operator new(block_pool::bytes_of(size));
    EXPECT_FALSE(pool.keep(one_more, size));
    ::operator delete(one_more);
  }
  for (std::size_t size = 0; size < block_pool::sizes; ++size) {
    void* const taken = pool.take(size);
    ASSERT_NE(taken, nullptr);
    EXPECT_TRUE(pool.keep(taken, size));
  }
}

}  // namespace
