#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/strong_id.h"

namespace plimsoll {

using OperatorId = StrongId<struct OperatorTag>;
using ValueId = StrongId<struct ValueTag>;
using StorageId = StrongId<struct StorageTag>;

/// What an operator writes: a storage of its own, or a view of one that it read.
struct OperatorValue {
  std::string name;
  StorageId storage;
  OperatorId maker;
  bool view = false;  ///< of an input's storage; takes no bytes, and is gone when the storage is
};

/// Bytes that come and go together.
struct OperatorStorage {
  Bytes size;
  ValueId owner;                ///< the value that is no view
  std::vector<ValueId> values;  ///< the owner first
};

/// One call, which may be made again at any time while its inputs are there, and then writes the same.
struct Operator {
  std::string name;
  Nanoseconds time;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  ///< at least one
  bool constant = false;         ///< given, not computed; never leaves
  Bytes written;                 ///< of its own outputs
};

/// Something that the program does in its order.
struct OperatorEvent {
  enum class Kind : std::uint8_t {
    kRun,      ///< an operator, for the first time
    kHold,     ///< one more reference to a value
    kRelease,  ///< one less
  };
  Kind kind = Kind::kRun;
  std::uint32_t index = 0;  ///< of the operator, or of the value
};

/// A program's operators in the order in which it calls them, each after those whose values it reads.
struct OperatorGraph {
  std::vector<Operator> operators;
  std::vector<OperatorValue> values;
  std::vector<OperatorStorage> storages;
  std::vector<OperatorEvent> events;
  std::vector<ValueId> kept;  ///< those that must be there at the end

  [[nodiscard]] const Operator& at(OperatorId id) const { return operators[id.index]; }
  [[nodiscard]] const OperatorValue& at(ValueId id) const { return values[id.index]; }
  [[nodiscard]] const OperatorStorage& at(StorageId id) const { return storages[id.index]; }

  /// Of every operator once.
  [[nodiscard]] Nanoseconds base_time() const;
};

/// The order in which operators run, each at least once, and for the first time in the program's order. A storage is
/// freed as soon as nothing reads it before it is written again.
using OperatorRuns = std::vector<OperatorId>;

/// Adds an operator that writes `sizes`; where `views` has an input's place, the output is a view of that input (else
/// -1). Names of outputs are the caller's to keep apart.
OperatorId add_operator(OperatorGraph& graph, const Operator& made, const std::vector<std::string>& names,
                        const std::vector<Bytes>& sizes, const std::vector<int>& views);

}  // namespace plimsoll
