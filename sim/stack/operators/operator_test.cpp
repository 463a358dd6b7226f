#include "sim/stack/operators/operator_test.h"

#include <map>
#include <memory>
#include <optional>

#include "sim/memory/caching_allocator.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

constexpr int kRepetitions = 3;

void drop_gradients(Tape& tape) {
  for (Parameter& parameter : tape.parameters()) parameter.gradient = {};
}

Tensors gradients_of(Tape& tape, const Tensors& results, const OperatorTest& test, Tensors& held) {
  Tensors gradients;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (test.gradient == ResultGradient::kScalar) {
      // One number, seen at every place of the result.
      Tensor spread = tape.empty({1}, results[i].dtype);
      spread.shape = results[i].shape;
      spread.order = {kStrided};
      gradients.push_back(std::move(spread));
      continue;
    }
    if (held.size() <= i) held.push_back(tape.empty(results[i].shape, test.gradient_type.value_or(results[i].dtype)));
    const bool same = held[i].dtype == results[i].dtype;
    gradients.push_back(same ? held[i] : tape.empty(results[i].shape, results[i].dtype));
  }
  return gradients;
}

/// Copies of what the nodes of a graph hold.
void hold_graph(const std::shared_ptr<Node>& node, std::map<Node*, Backward>& kept) {
  if (!node || !kept.emplace(node.get(), node->backward).second) return;
  for (const Edge& edge : node->next) hold_graph(edge.node, kept);
}

void repeat(Tape& tape, const OperatorTest& test, OperatorMode mode, Tensors& held) {
  if (test.drops_gradients) drop_gradients(tape);
  tape.phase(Phase::kForward);
  const Tensors results = test.forward();
  if (mode == OperatorMode::kForward) return;
  tape.phase(Phase::kBackward);
  std::map<Node*, Backward> kept;
  if (test.retains_graph) {
    for (const Tensor& result : results) hold_graph(result.maker, kept);
  }
  const Tensors gradients = gradients_of(tape, results, test, held);
  tape.backward_to(results, gradients, {});
}

/// Highest sum of blocks from the event `from` on. At `emptied` the cache was given back.
Bytes peak_from(const StorageLog& log, std::size_t emptied, std::size_t from) {
  CachingAllocator allocator;
  std::vector<std::optional<CachingAllocator::BlockId>> blocks(log.storages());
  for (std::size_t i = 0; i < log.events().size(); ++i) {
    if (i == emptied) allocator.empty_cache();
    if (i == from) allocator.reset_peaks();
    const StorageEvent& event = log.events()[i];
    if (event.bytes == Bytes(0)) continue;
    auto& block = blocks[event.storage];
    if (event.change == StorageChange::kBorn) block = allocator.allocate(event.bytes);
    if (event.change == StorageChange::kDied && block) allocator.free(*block);
  }
  return allocator.peak_allocated();
}

}  // namespace

Bytes measure_operator(Tape& tape, const OperatorTest& test, OperatorMode asked) {
  const OperatorMode mode = test.always_full ? OperatorMode::kFull : asked;
  Tensors held;
  // Other modes have run before: the libraries' workspaces are there for both threads.
  repeat(tape, test, OperatorMode::kFull, held);
  if (mode == OperatorMode::kForward) {
    drop_gradients(tape);
    held.clear();
  }
  const std::size_t emptied = tape.log().events().size();
  for (int i = 1; i < kRepetitions; ++i) repeat(tape, test, mode, held);
  const std::size_t from = tape.log().events().size();
  repeat(tape, test, mode, held);
  return peak_from(tape.log(), emptied, from);
}

Tensor leaf(Tape& tape, Parameter& parameter) { return view(tape, parameter.use(), parameter.value.shape); }

}  // namespace plimsoll
