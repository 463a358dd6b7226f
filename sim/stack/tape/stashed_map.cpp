#include "sim/stack/tape/stashed_map.h"

namespace plimsoll {

void StashedMap::put_away(Tape& tape, const MapCompression& compression) {
  const bool saved = map_.storage.use_count() > 1;
  const auto waiting = saved ? encode_map(facts, compression) : std::nullopt;
  if (!waiting) {
    map_.storage.reset();
    return;
  }
  waiting_ = *waiting;
  if (waiting_.bytes > Bytes(0)) {
    encoded_ = tape.empty({waiting_.bytes.count}, kMaskType);
    tape.stream(waiting_.traffic, facts.dtype);
  }
  map_.storage->leave();
}

void StashedMap::bring_back(Tape& tape) {
  if (!waiting_.decoded || map_.storage->is_there()) return;
  map_.storage->return_to_device();
  tape.stream(static_cast<double>(facts.elements * size_of(facts.dtype)) + static_cast<double>(waiting_.bytes.count), facts.dtype);
  encoded_ = {};
}

}  // namespace plimsoll
