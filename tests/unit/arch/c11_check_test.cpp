// The header in strict C11: see c11_test.c.
#include <gtest/gtest.h>

extern "C" int c11_first_wrong_step();

TEST(C11, EveryVerb) {
  EXPECT_EQ(c11_first_wrong_step(), 0);
}
