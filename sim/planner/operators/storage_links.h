#pragma once

#include <limits>
#include <vector>

#include "core/plan/operator_graph.h"

namespace plimsoll {

/// Who is made from whom: a storage that `by` reads, or writes, beside another one.
struct StorageLink {
  StorageId other;
  OperatorId by;
};

/// A program's storages and what connects them.
struct StorageLinks {
  explicit StorageLinks(const OperatorGraph& graph);

  std::vector<std::vector<StorageLink>> parents;    ///< by storage: what the makers of its values read
  std::vector<std::vector<StorageLink>> children;   ///< by storage: what is written by those that read it
  std::vector<std::vector<std::uint32_t>> readers;  ///< by storage: operators that read it, in the program's order
  std::vector<Nanoseconds> begin;                   ///< of each operator, when all run once
  static constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();  ///< reader of what is kept
};

}  // namespace plimsoll
