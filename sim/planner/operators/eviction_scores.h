#pragma once

#include <random>

#include "sim/planner/operators/eviction_rule.h"
#include "sim/planner/operators/storage_links.h"

namespace plimsoll {

/// The scores of storages while a program runs. Told of every birth, eviction and writing.
class EvictionScores {
 public:
  EvictionScores(const OperatorGraph& graph, const StorageLinks& links, const EvictionRule& rule);

  /// The operator is called for the first time; nothing of later ones is known to a rule.
  void begin(OperatorId id);
  void evicted(StorageId storage);
  void written(StorageId storage);
  void read(StorageId storage, Nanoseconds clock) { last_read_[storage.index] = clock; }
  double score(StorageId storage, Nanoseconds clock);
  /// Links that were looked at.
  [[nodiscard]] std::uint64_t visits() const { return visits_; }

 private:
  [[nodiscard]] double cost(StorageId storage);
  [[nodiscard]] double region(StorageId storage, const std::vector<std::vector<StorageLink>>& links);
  [[nodiscard]] double classes(StorageId storage);
  [[nodiscard]] double ahead(StorageId storage);
  [[nodiscard]] bool born(OperatorId id) const { return id.index <= newest_.index; }
  void changed(StorageId storage);
  std::uint32_t new_node(double value);
  std::uint32_t root(std::uint32_t node);

  const OperatorGraph& graph_;
  const StorageLinks& links_;
  const EvictionRule& rule_;
  OperatorId newest_{0};
  std::vector<Nanoseconds> last_read_;
  std::vector<double> own_;  ///< by storage: time of the makers of its values so far
  std::vector<double> factor_;
  std::vector<double> known_;      ///< by storage: what its region costs, below 0 where that is not known
  std::vector<char> gone_;         ///< by storage: evicted
  std::vector<std::size_t> next_;  ///< by storage: into its readers
  std::vector<std::uint32_t> mark_;
  std::uint32_t marks_ = 0;
  std::uint64_t visits_ = 0;
  std::vector<StorageId> stack_;
  std::vector<std::uint32_t> node_;  ///< by storage: of the forest of classes, or none while it is there
  std::vector<std::uint32_t> parent_;
  std::vector<double> value_;  ///< by node, of a root
  std::vector<std::uint32_t> node_mark_;
};

}  // namespace plimsoll
