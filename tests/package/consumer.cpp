// A C++ program outside of the tree: built by ./check against an installed Sennit.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/offload.hpp"

static sennit::generator<int> numbers(int count) {
  return sennit::generator<int>([count](auto& yield) {
    for (int i = 0; i < count; ++i)
      yield(i);
  });
}

int main() {
  int sum = 0;
  for (int each : numbers(10))
    sum += each;
  for (int each : numbers(10))
    if (each == 5)
      break;  // unwinds the body: its exception crosses the library's boundary

  sennit::local::runtime runtime;
  const std::string text = runtime.run([] {
    sennit::local::channel<std::string> words;
    auto sender = sennit::local::spawn([&] {
      words.send("it ");
      words.send(sennit::offload([] { return std::string("works"); }));
      words.close();
      throw std::runtime_error("!");
    });
    std::string joined;
    for (const std::string& word : words)
      joined += word;
    try {
      sender.join();
    } catch (const std::runtime_error& error) {
      joined += error.what();
    }
    return joined;
  });
  std::printf("%d %s\n", sum, text.c_str());
}
