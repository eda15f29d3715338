// The options of checks. Those that also hold at a link (polls_at_link.hpp) are link options.
#pragma once

#include <llvm/Support/CommandLine.h>

#include <cstdint>
#include <string>

#include "polls_at_link.hpp"

namespace sennit::compiler {

// -sennit-polls-placement: where in a loop its check is.
enum class placement : std::uint8_t { min, max, begin, ends };
// -sennit-polls-in: which blocks get a check.
enum class scope : std::uint8_t { cycles, each_block, needed };

extern llvm::cl::opt<bool> polls_are_wanted;
extern link_option<placement> polls_placement;
extern link_option<scope> polls_scope;
extern link_option<bool> polls_are_verified;
extern link_option<unsigned> poll_left_out;
extern link_option<std::string> polls_report_file;
extern link_option<std::string> polls_graph_file;

}  // namespace sennit::compiler
