#pragma once

#include <memory>

#include "sim/stack/tape/map_encoding.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// A map that several operations have saved: what they read of it, and what of it is there. Each of them calls it back before its
/// backward pass.
class StashedMap {
 public:
  explicit StashedMap(const Tensor& map) : map_(map.detached()) {
    facts.elements = map.elements();
    facts.dtype = map.dtype;
  }

  FeatureMap facts;

  [[nodiscard]] const Storage* storage() const { return map_.storage.get(); }
  /// Nobody in the forward pass reads it any more: what waits takes its place, unless no operation has saved it.
  void put_away(Tape& tape, const MapCompression& compression);
  /// The first to read its numbers decodes it; signs are read as they are.
  void bring_back(Tape& tape);

 private:
  Tensor map_;
  Tensor encoded_;
  WaitingMap waiting_;
};

}  // namespace plimsoll
