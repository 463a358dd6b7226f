#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace/operator_trace.h"

namespace plimsoll {

/// A tensor as an execution trace names it.
struct NamedTensor {
  std::uint64_t storage = 0;
  std::int64_t offset = 0;  ///< elements
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  std::string device;
};

/// One node as a file has it.
struct CollectedNode {
  std::uint64_t id = 0;
  std::string name;
  OperatorSort sort = OperatorSort::kCompute;
  bool on_host = true;
  std::int64_t lane = 0;
  std::int64_t bytes = 0;
  double duration_microseconds = -1;
  std::vector<std::uint64_t> after;
  std::uint64_t parent = 0;
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
};

/// Puts nodes in order and makes indices of ids; finds how long storages are in use.
class OperatorCollector {
 public:
  void add(CollectedNode node) { nodes_.push_back(std::move(node)); }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  OperatorTrace finish(std::string source);

 private:
  void link(OperatorTrace& trace);
  void name_storages(OperatorTrace& trace);

  std::vector<CollectedNode> nodes_;
};

/// The tensors in a text of Python's lists: [[4, 5, 0, 64, 4, 'cuda:0'], …] as tensor id, storage id, offset, elements, bytes of
/// one, device. Whatever else stands there is passed over.
std::vector<NamedTensor> tensors_in(std::string_view text);

}  // namespace plimsoll
