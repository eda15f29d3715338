#include "callees_first.hpp"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>

#include <vector>

namespace sennit::compiler {

void put_callees_first(llvm::Module& module) {
  llvm::CallGraph calls(module);
  std::vector<llvm::Function*> order;
  for (auto group = llvm::scc_begin(&calls); !group.isAtEnd(); ++group)
    for (const llvm::CallGraphNode* each : *group)
      if (llvm::Function* function = each->getFunction())
        order.push_back(function);
  auto& functions = module.getFunctionList();
  for (llvm::Function* each : order)
    functions.splice(functions.end(), functions, each->getIterator());
}

}  // namespace sennit::compiler
