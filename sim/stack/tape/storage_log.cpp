#include "sim/stack/tape/storage_log.h"

namespace plimsoll {

Storage::Storage(std::shared_ptr<StorageLog> log, std::uint32_t id, Bytes bytes, Holding holding, std::uint8_t stream)
    : log_(std::move(log)), id_(id), bytes_(bytes), holding_(holding), stream_(stream) {}

Storage::~Storage() {
  log_->note({.storage = id_, .change = StorageChange::kDied, .holding = holding_, .stream = stream_, .bytes = bytes_});
}

void Storage::rename(Holding holding) {
  if (holding == holding_) return;
  holding_ = holding;
  log_->note({.storage = id_, .change = StorageChange::kRenamed, .holding = holding, .stream = stream_, .bytes = bytes_});
}

std::shared_ptr<Storage> StorageLog::make(Bytes bytes, Holding holding, std::uint8_t stream) {
  const std::uint32_t id = next_++;
  note({.storage = id, .change = StorageChange::kBorn, .holding = holding, .stream = stream, .bytes = bytes});
  return std::make_shared<Storage>(shared_from_this(), id, bytes, holding, stream);
}

void StorageLog::note(StorageEvent event) {
  event.place = place_;
  events_.push_back(event);
}

}  // namespace plimsoll
