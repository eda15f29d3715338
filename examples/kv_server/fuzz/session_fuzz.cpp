// Fuzz target: the whole path from bytes to bytes, of one or more clients whose sessions are given whatever
// the input says. Replies are whole; what one client is told does not depend on how its bytes are split.
//
// input: settings, then pieces: which client and what happens to it, how many bytes, the bytes
#include <algorithm>
#include <vector>

#include "harness.hpp"
#include "resp.hpp"
#include "world.hpp"

namespace kv::fuzz {

namespace {

struct piece {
  std::size_t client;
  unsigned what;
  std::string bytes;
};

settings choose_settings(std::uint8_t byte) {
  settings chosen;
  chosen.max_output = std::size_t{256} << 10;
  chosen.protocol.max_bulk = 65536;
  chosen.protocol.max_request = 1 << 20;
  chosen.protocol.most_elements = (byte & 4) != 0 ? 16 : 4096;
  if ((byte & 2) != 0) {
    chosen.max_pushed = 64;
    chosen.protocol.max_request = 256;
  }
  return chosen;
}

std::vector<piece> read_pieces(reader& input) {
  std::vector<piece> pieces;
  while (!input.empty()) {
    const unsigned code = input.byte();
    piece next{code % 4 % world::peers, code / 4 % 16, {}};
    if (next.what < 13) {
      next.bytes = input.bytes(input.byte());
    }
    pieces.push_back(std::move(next));
  }
  return pieces;
}

void happen(world& all, const piece& next) {
  switch (next.what) {
    case 13:
      all.disconnect(next.client);
      break;
    case 14:
      all.at(next.client).time_out();
      break;
    case 15:
      all.keys().destroy_garbage(20);
      break;
    default:
      all.at(next.client).send(next.bytes, next.what == 12 ? 1 : SIZE_MAX);
      parse_replies(all.at(next.client).take_received());
  }
  all.settle();
}

// What one client is told that sends all those bytes.
std::string converse(const settings& chosen, const std::vector<std::string>& parts) {
  restart_randomness();
  world all(chosen);
  std::string told;
  {
    peer client(all.server());
    for (const std::string& each : parts) {
      client.send(each);
    }
    told = client.take_received();
  }
  all.end();
  return told;
}

// INFO reports memory, which depends on how bytes are split. An HTTP request closes the connection at once:
// which replies went out before it depends on that, too.
bool may_depend_on_splitting(const std::string& bytes) {
  std::string lower = bytes;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char byte) { return std::tolower(byte); });
  const auto mentions = [&lower](const char* word) { return lower.find(word) != std::string::npos; };
  return mentions("info") || mentions("post") || mentions("host:");
}

void check_splitting(const settings& chosen, const std::vector<piece>& pieces) {
  std::vector<std::string> parts;
  std::string whole;
  for (const piece& each : pieces) {
    parts.push_back(each.bytes);
    whole += each.bytes;
  }
  const std::string told = converse(chosen, {whole}), told_in_parts = converse(chosen, parts);
  parse_replies(told);
  if (told != told_in_parts && !may_depend_on_splitting(whole)) {
    broken("a client is told the same however its bytes are split",
           "whole:    " + quoted(told) + "\nin parts: " + quoted(told_in_parts));
  }
}

void run(reader input) {
  const std::uint8_t options = input.byte();
  const settings chosen = choose_settings(options);
  const std::vector<piece> pieces = read_pieces(input);
  if ((options & 1) != 0) {
    check_splitting(chosen, pieces);
    return;
  }
  world all(chosen);
  for (const piece& each : pieces) {
    happen(all, each);
  }
  if (is_planted("property") && all.keys().size() != 0) {
    all.server().client_memory += 1;
  }
  all.end();
}

}  // namespace

}  // namespace kv::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kv::fuzz::begin({reinterpret_cast<const char*>(data), size});
  kv::fuzz::run({data, size});
  return 0;
}
