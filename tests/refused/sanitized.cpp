// A program that is linked with a library of another build.
#include "sennit/event.hpp"

int main() {
  sennit::event event;
  event.set();
}
