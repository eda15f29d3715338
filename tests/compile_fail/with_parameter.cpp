// A fiber's function that wants an argument.
#include "sennit/local/runtime.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"

int main() {
  ENTRY([](int) {});
}
