#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/layer_graph.h"

namespace plimsoll {

/// Which recurrence, and with it which model of time and memory: see this folder's README.
enum class PartitionMethod : std::uint8_t { kPipeDream, kDnn, kAlpa, kPiper };

const char* to_text(PartitionMethod method);

/// `devices` parts of the level below, joined by links of so many bytes a second.
struct PartitionLevel {
  std::size_t devices = 1;
  double bandwidth = 1;
};

/// Layers to be laid on devices.
struct PartitionTask {
  LayerGraph graph;
  std::vector<PartitionLevel> levels;  ///< inner first; at least one
  std::optional<Bytes> memory;         ///< of one device
  std::size_t micro_batches = 1;       ///< of one batch
  bool straight = false;               ///< no replicas
  bool fewer = false;                  ///< may leave devices idle
  bool latency = false;                ///< one sample's way, not samples a second

  [[nodiscard]] std::size_t devices() const {
    std::size_t product = 1;
    for (const PartitionLevel& level : levels) product *= level.devices;
    return product;
  }
};

/// Layers that run together.
struct PartitionStage {
  std::vector<LayerId> layers;        ///< in topological order
  std::size_t replicas = 1;           ///< at its level
  std::size_t degree = 1;             ///< devices that share each replica's tensors
  std::vector<std::uint32_t> ways;    ///< Piper: by position in `layers`
  std::vector<PartitionStage> inner;  ///< how a replica is divided over the level below; none at the lowest
};

/// An assignment of all layers.
struct Partition {
  PartitionMethod method = PartitionMethod::kPipeDream;
  std::vector<PartitionStage> stages;  ///< of the outermost level, in the order of the forward pass
  bool exact = true;                   ///< the best by its method's model
};

/// What one stage of the lowest level takes.
struct PartitionStageCost {
  double compute_seconds = 0;   ///< of all its layers on one device
  double sync_seconds = 0;      ///< of summing its gradients
  double transfer_seconds = 0;  ///< over its boundaries
  double seconds = 0;           ///< between two samples, all replicas together
  Bytes memory;                 ///< of one device; none for programmes that do not count it
};

/// What an assignment takes, counted without the planner.
struct PartitionCost {
  std::vector<PartitionStageCost> stages;  ///< of the lowest level, in the order of the forward pass
  double slowest_seconds = 0;
  double objective = 0;  ///< what the method minimises: the slowest stage, one sample's latency or one batch's time
  Bytes memory;          ///< of the fullest device
};

/// A stage of the lowest level, and how often it is there.
struct PartitionLeaf {
  const PartitionStage* stage = nullptr;
  std::size_t replicas = 1;  ///< over all levels
};

/// All stages of the lowest level, in the order of the forward pass.
std::vector<PartitionLeaf> leaves_of(const Partition& partition);

}  // namespace plimsoll
