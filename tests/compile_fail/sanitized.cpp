// A program that is linked with a library of another build.
#include "sennit/mutex.hpp"

int main() {
  const sennit::mutex mutex;
}
