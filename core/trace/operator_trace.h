#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/recording.h"

namespace plimsoll {

enum class OperatorSort : std::uint8_t { kOther, kCompute, kLoad, kStore, kSend, kReceive, kCollective };

/// One node of an execution trace: an operator with what it waits for, not when it ran.
struct TracedOperator {
  std::uint64_t id = 0;
  NameId name;
  OperatorSort sort = OperatorSort::kCompute;
  bool on_host = true;        ///< of a processor's thread; else a kernel or a transfer of a device
  bool has_children = false;  ///< others ran within it
  std::int64_t lane = 0;      ///< its thread, or its stream
  std::int64_t bytes = 0;     ///< that a collective or a transfer moves; 0: not told
  Nanoseconds duration{-1};   ///< −1: not told
  std::vector<std::uint32_t> after;  ///< indices of nodes that must have ended
};

/// A stretch of memory that tensors share, as long as operators name it.
struct TracedStorage {
  std::uint64_t id = 0;
  std::string device;  ///< "cuda:0", "cpu"
  std::int64_t bytes = 0;
  std::uint32_t first = 0;  ///< index of the first node that names it, in the order in which nodes began
  std::uint32_t last = 0;
  bool made = false;        ///< the first naming is as an output: it was not there before
};

/// What a PyTorch execution trace or a Chakra trace tells. Nodes stand in the order of their ids.
struct OperatorTrace {
  std::string source;  ///< "Chakra trace 1.0.1", "PyTorch execution trace 1.1.1"
  NamePool names;
  std::vector<TracedOperator> nodes;
  std::vector<TracedStorage> storages;  ///< in the order in which they are named first
  std::vector<RecordingLoss> losses;

  [[nodiscard]] bool timed() const;
};

/// Bytes of a device that are in use from one node to the next, and their highest.
struct StoragePeak {
  std::string device;
  std::size_t storages = 0;
  std::int64_t there_before = 0;  ///< bytes of storages that no node of the trace makes: weights, inputs
  std::int64_t peak = 0;
  std::uint32_t at = 0;           ///< the node
};

/// The memory of each device, by its name, when storages live from the first node that names them to the last, and those that were
/// there before live throughout.
std::vector<StoragePeak> storage_peaks(const OperatorTrace& trace);

std::string_view to_text(OperatorSort sort);

}  // namespace plimsoll
