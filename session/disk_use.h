#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/base/quantity.h"
#include "core/plan/durability.h"
#include "executor/checkpoint/state_files.h"

namespace plimsoll {

/// The files of one file system as they come and go, by name only, and what they took at most beyond what they took
/// first.
class DiskUse {
 public:
  /// A file that is there already.
  void found(const std::string& name, Bytes bytes);
  [[nodiscard]] bool has(const std::string& name) const { return files_.contains(name); }
  /// Whether both are names of one file; both are there.
  [[nodiscard]] bool are_one(const std::string& a, const std::string& b) const { return files_.at(a) == files_.at(b); }

  /// Makes it, or lets it grow to `bytes`; what it held is written over.
  void write(const std::string& name, Bytes bytes);
  void remove(const std::string& name) { files_.erase(name); }
  void rename(const std::string& from, const std::string& to);
  /// A second name, which takes no room.
  void link(const std::string& name, const std::string& second) { files_[second] = files_.at(name); }

  [[nodiscard]] Bytes most() const { return most_; }

 private:
  [[nodiscard]] Bytes used() const;

  std::map<std::string, std::shared_ptr<Bytes>> files_;  ///< what several names share counts once
  Bytes before_;
  Bytes most_;
};

/// What a training writes of its states from now on.
struct StateWrites {
  StateFiles files;
  Durability durability = Durability::kNone;
  Bytes state;             ///< of one file
  bool begins = true;      ///< both files of a step are made first, where there are such
  Bytes trial;             ///< of one file of the trial that predicts what checkpoints cost
  std::int64_t early = 0;  ///< checkpoints before the trial, in the warm-up
  std::int64_t later = 0;  ///< those after it
};

/// Does to `disk` what StateKeeper and the trial do to theirs.
void write_states(const StateWrites& writes, DiskUse& disk);

}  // namespace plimsoll
