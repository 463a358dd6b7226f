#include "sim/planner/known_packings.h"

namespace plimsoll {

std::optional<std::shared_ptr<const Packing>> KnownPackings::find(const Key& key) const {
  const std::scoped_lock lock(mutex_);
  const auto known = packings_.find(key);
  return known == packings_.end() ? std::nullopt : std::optional(known->second);
}

void KnownPackings::keep(const Key& key, const std::optional<Packing>& packing) {
  const auto size = packing ? static_cast<std::int64_t>(packing->offsets.size()) : 0;
  auto kept = packing ? std::make_shared<const Packing>(*packing) : nullptr;
  const std::scoped_lock lock(mutex_);
  if (room_ < size || !packings_.try_emplace(key, std::move(kept)).second) return;
  room_ -= size;
}

}  // namespace plimsoll
