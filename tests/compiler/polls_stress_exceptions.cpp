// Exceptions go through frames that yield at every check, with nothing left in dead registers, and are caught
// as in the stock build.
// RUN: %stock_clang -O1 -fPIC -c %inputs/trash.c -o %t.trash.o
// RUN: %stock_clangxx -O1 -ffp-contract=off %s -o %t.stock && %t.stock > %t.want && FileCheck %s < %t.want
// RUN: %polled_cxx -O0 -o %t.0 && timeout 60 %t.0 > %t.out 2> %t.yields && cmp %t.want %t.out
// RUN: FileCheck %s --check-prefix YIELDS < %t.yields
// RUN: %polled_cxx -O1 -o %t.1 && timeout 60 %t.1 > %t.out && cmp %t.want %t.out
// RUN: %polled_cxx -O2 -o %t.2 && timeout 60 %t.2 > %t.out && cmp %t.want %t.out
// RUN: %polled_cxx -O3 -march=native -o %t.3 && timeout 60 %t.3 > %t.out && cmp %t.want %t.out
// RUN: %polled_cxx -Os -o %t.s && timeout 60 %t.s > %t.out && cmp %t.want %t.out
// RUN: %polled_cxx -O2 -fPIC -fno-omit-frame-pointer -o %t.p && timeout 60 %t.p > %t.out && cmp %t.want %t.out
// RUN: %sennit_clangxx -O2 -flto -ffp-contract=off -mllvm -sennit-polls -c %s -o %t.lto.o
// RUN: %link -flto %t.lto.o %t.trash.o -lstdc++ -o %t.l && timeout 60 %t.l > %t.out && cmp %t.want %t.out
// CHECK: {{^}}recursed [[#]], [[#]] failures, {{[0-9.]+}}; nested [[#]]; called 2584
// YIELDS: {{^[1-9][0-9]+}} yields
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

// Its destructor loops while the stack is unwound.
struct counts_up {
  int& value;
  explicit counts_up(int& counted) : value(counted) {}
  ~counts_up() {
    for (int i = 0; i < 3; ++i)
      value += i;
  }
};

int recurse(int depth, double sum, int& counted) {
  const counts_up counts(counted);
  if (depth == 0)
    throw std::pair<int, double>(counted, sum);
  std::vector<int> values(static_cast<std::size_t>(depth));
  for (int i = 0; i < depth; ++i)
    values[static_cast<std::size_t>(i)] = i * counted;
  for (const int each : values)
    sum = sum * 1.0001 + each;
  int result = recurse(depth - 1, sum, counted);
  for (const int each : values)
    result += each;
  return result;
}

int recurse_and_catch(int number) try {
  int counted = number;
  return recurse(number % 13, number * 0.5, counted);
} catch (const std::pair<int, double>& thrown) {
  if (number % 3 == 0)
    throw std::runtime_error(std::to_string(thrown.first));
  return thrown.first + static_cast<int>(thrown.second);
}

struct own_exception : std::exception {
  const char* what() const noexcept override { return "own"; }
};

// Throws while it handles others, and throws one of them again.
long nested(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      try {
        if (i % 2 != 0)
          throw i;
        throw own_exception();
      } catch (int caught) {
        sum += caught;
        for (int each = 0; each < 5; ++each)
          sum ^= each * caught;
        throw std::string("thrown");
      }
    } catch (const std::string& caught) {
      sum += static_cast<long>(caught.size());
    } catch (const std::exception& caught) {
      sum += caught.what()[1];
      try {
        std::rethrow_exception(std::current_exception());
      } catch (const own_exception&) {
        sum = sum * 3 % 1'000'003;
      }
    }
  }
  return sum;
}

}  // namespace

int main() {
  long sum = 0;
  int failures = 0;
  double parts = 0;
  for (int i = 0; i < 1000; ++i) {
    try {
      sum += recurse_and_catch(i);
    } catch (const std::runtime_error& caught) {
      sum += std::stol(caught.what());
      parts += 1 / (i + 1.0);
      ++failures;
    }
  }
  const std::function<int(int)> fibonacci = [&](int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  };
  std::printf("recursed %ld, %d failures, %.9f; nested %ld; called %d\n", sum, failures, parts, nested(2000),
              fibonacci(18));
}
