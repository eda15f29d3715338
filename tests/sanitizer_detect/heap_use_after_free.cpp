// One fiber frees what another still reads.
// sanitizer: address valgrind
// expect: AddressSanitizer: heap-use-after-free|Invalid read of size 4
// frame: read
// frame: drop
// frame: make
#include <memory>

#include "sanitizer_detect.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

[[gnu::noinline]] static std::unique_ptr<int> make() {
  return std::make_unique<int>(planted::opaque(1));
}
[[gnu::noinline]] static void drop(std::unique_ptr<int>& owner) {
  owner = nullptr;
  planted::opaque(0);  // or a jump to operator delete would take this frame's place
}
[[gnu::noinline]] static int read(const int* item) {
  return *planted::opaque(item);
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    runtime().run([] {
      auto item = make();
      auto reader = spawn([seen = item.get()] {
        this_fiber::yield();
        planted::opaque(read(seen));
      });
      auto owner = spawn([&] {
        if (!planted::bug)
          reader.join();
        drop(item);
      });
      owner.join();
      if (reader.joinable())
        reader.join();
    });
  });
}
