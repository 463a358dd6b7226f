#include "sim/stack/tape/storage_log.h"

#include <algorithm>
#include <set>

namespace plimsoll {

Storage::Storage(std::shared_ptr<StorageLog> log, std::uint32_t id, Bytes bytes, Holding holding, std::uint8_t stream, bool there)
    : log_(std::move(log)), id_(id), bytes_(bytes), holding_(holding), stream_(stream), there_(false) {
  if (there) return_to_device();
}

Storage::~Storage() { leave(); }

void Storage::leave() {
  if (!there_) return;
  there_ = false;
  log_->note({.storage = id_, .change = StorageChange::kDied, .holding = holding_, .stream = stream_, .bytes = bytes_});
}

void Storage::return_to_device() {
  if (there_) return;
  there_ = true;
  log_->note({.storage = id_, .change = StorageChange::kBorn, .holding = holding_, .stream = stream_, .bytes = bytes_});
}

void Storage::rename(Holding holding) {
  if (holding == holding_) return;
  holding_ = holding;
  if (there_) log_->note({.storage = id_, .change = StorageChange::kRenamed, .holding = holding, .stream = stream_, .bytes = bytes_});
}

std::shared_ptr<Storage> StorageLog::make(Bytes bytes, Holding holding, std::uint8_t stream) {
  return std::make_shared<Storage>(shared_from_this(), next_++, bytes, holding, stream, true);
}

std::shared_ptr<Storage> StorageLog::make_absent(Bytes bytes, Holding holding, std::uint8_t stream) {
  return std::make_shared<Storage>(shared_from_this(), next_++, bytes, holding, stream, false);
}

void StorageLog::note(StorageEvent event) {
  event.place = place_;
  next_ = std::max(next_, event.storage + 1);
  events_.push_back(event);
}

void StorageLog::forget_lived_since(std::uint64_t event) {
  const auto begin = events_.begin() + static_cast<std::ptrdiff_t>(event);
  std::set<std::uint32_t> lived;
  for (auto at = begin; at != events_.end(); ++at) {
    if (at->change == StorageChange::kBorn && at->holding != Holding::kWorkspace) lived.insert(at->storage);
  }
  events_.erase(std::remove_if(begin, events_.end(), [&](const StorageEvent& one) { return lived.contains(one.storage); }), events_.end());
}

}  // namespace plimsoll
