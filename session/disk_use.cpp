#include "session/disk_use.h"

#include <algorithm>
#include <set>

namespace plimsoll {
namespace {

/// From then on another checkpoint finds the room that an older one had.
constexpr std::int64_t kNewRoom = 4;

/// As keep_previous (executor/checkpoint/state_files.h) does it.
void keep_previous(const StateFiles& files, DiskUse& disk) {
  if (!disk.has(files.checkpoint)) return;
  const std::string beside = files.previous + ".tmp";
  disk.link(files.checkpoint, beside);
  if (disk.has(files.previous) && !disk.are_one(files.previous, files.checkpoint)) {
    disk.rename(files.previous, files.checkpoint + ".tmp");
  }
  disk.rename(beside, files.previous);
}

void write_beside(const std::string& path, Bytes bytes, DiskUse& disk) {
  disk.write(path + ".tmp", bytes);
  disk.rename(path + ".tmp", path);
}

void write_checkpoints(const StateWrites& writes, std::int64_t count, DiskUse& disk) {
  for (std::int64_t i = 0; i < std::min(count, kNewRoom); ++i) {
    if (writes.durability == Durability::kCheckpoint) keep_previous(writes.files, disk);
    write_beside(writes.files.checkpoint, writes.state, disk);
  }
}

/// The trial keeps as many files as the run will (executor/checkpoint/save_rates.h).
void try_out(const StateWrites& writes, DiskUse& disk) {
  const int files = writes.durability == Durability::kNone ? 0 : writes.durability == Durability::kCheckpoint ? 2 : 1;
  for (int i = 0; i < files; ++i) disk.write("trial " + std::to_string(i), writes.trial);
  for (int i = 0; i < files; ++i) disk.remove("trial " + std::to_string(i));
}

}  // namespace

void DiskUse::found(const std::string& name, Bytes bytes) {
  files_[name] = std::make_shared<Bytes>(bytes);
  before_ += bytes;
}

void DiskUse::write(const std::string& name, Bytes bytes) {
  std::shared_ptr<Bytes>& file = files_[name];
  if (!file) file = std::make_shared<Bytes>();
  *file = std::max(*file, bytes);
  most_ = std::max(most_, used() - before_);
  *file = bytes;
}

void DiskUse::rename(const std::string& from, const std::string& to) {
  files_[to] = files_.at(from);
  files_.erase(from);
}

Bytes DiskUse::used() const {
  Bytes sum;
  std::set<const Bytes*> counted;
  for (const auto& [name, bytes] : files_) {
    if (counted.insert(bytes.get()).second) sum += *bytes;
  }
  return sum;
}

void write_states(const StateWrites& writes, DiskUse& disk) {
  if (writes.durability == Durability::kStep && writes.begins) {
    for (const std::string& path : writes.files.steps) write_beside(path, writes.state, disk);
  }
  write_checkpoints(writes, writes.early, disk);
  try_out(writes, disk);
  write_checkpoints(writes, writes.later, disk);
}

}  // namespace plimsoll
