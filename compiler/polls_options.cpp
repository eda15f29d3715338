#include "polls_options.hpp"

namespace sennit::compiler {

llvm::cl::opt<bool> polls_are_wanted("sennit-polls",
                                     llvm::cl::desc("Put yield checks into loops and recursion"));

link_option<placement> polls_placement(
    "sennit-polls-placement", llvm::cl::init(placement::min), llvm::cl::desc("Where in a loop its check is"),
    llvm::cl::values(clEnumValN(placement::min, "min", "where the fewest registers must be saved"),
                     clEnumValN(placement::max, "max", "where the most must be saved, to compare with"),
                     clEnumValN(placement::begin, "begin", "at the beginning of the loop's entry"),
                     clEnumValN(placement::ends, "ends", "at a beginning or an end of a block: the best")));

link_option<scope> polls_scope(
    "sennit-polls-in", llvm::cl::init(scope::cycles), llvm::cl::desc("What gets a check"),
    llvm::cl::values(clEnumValN(scope::cycles, "cycles", "loops, and calls that may come back"),
                     clEnumValN(scope::each_block, "blocks",
                                "each block, as Jaaskelainen 2008, to compare with"),
                     clEnumValN(scope::needed, "needed",
                                "each block, without those that the limit does not need, to compare with")));

link_option<bool> polls_are_verified(
    "sennit-polls-verify",
    llvm::cl::desc("Prove that no cycle is without a check or a proved bound, or fail"));
link_option<unsigned> poll_left_out(
    "sennit-polls-leave-out", llvm::cl::Hidden,
    llvm::cl::desc("This one of a function's checks, from 1, so that the proof fails"));
link_option<std::string> polls_report_file(
    "sennit-polls-report", llvm::cl::value_desc("file"),
    llvm::cl::desc(
        "Write there, behind what it has, how far a function's checks are from each other; - is stdout"));

link_option<std::string> polls_graph_file(
    "sennit-polls-graph", llvm::cl::value_desc("file"),
    llvm::cl::desc(
        "Add to a file what sennit-polls-distance needs: how far checks are apart in a whole program"));

}  // namespace sennit::compiler
