// A call that a case of a select cannot be given to.
#include <string>
#include <utility>

#include "sennit/channel.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/select_list.hpp"

int main() {
  sennit::channel<std::string> words(1);
  sennit::local::channel<int> numbers(1);
  sennit::select_list list;
  const std::string text = "text";
  const auto ignore = [](auto&&...) {};
  auto named = sennit::on_send(words, std::string("text"), ignore);
  CALL;
}
