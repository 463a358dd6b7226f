#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

/// What lies in a storage.
enum class Holding : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizer,
  kActivations,
  kWorkspace,
  kAwaited  ///< nobody's any more, and no more allocated: the allocator has the block back when another stream's work is done (record_stream)
};
inline constexpr int kHoldings = 6;

/// A storage comes into being, the last reference to it is gone, or what it holds is now called otherwise.
enum class StorageChange : std::uint8_t { kBorn, kDied, kRenamed };

struct StorageEvent {
  std::uint32_t storage = 0;
  StorageChange change = StorageChange::kBorn;
  Holding holding = Holding::kActivations;
  std::uint8_t stream = 0;
  std::uint32_t place = 0;  ///< where in the step: index into the places of the tape
  Bytes bytes;
};

class StorageLog;

/// Bytes that tensors share; when the last of them lets go, the log says so.
class Storage {
 public:
  Storage(std::shared_ptr<StorageLog> log, std::uint32_t id, Bytes bytes, Holding holding, std::uint8_t stream, bool there);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Gives its bytes back while tensors still refer to it, and takes as many again (a resized storage).
  void leave();
  void return_to_device();
  [[nodiscard]] bool is_there() const { return there_; }
  /// From now on it counts as that.
  void rename(Holding holding);

 private:
  std::shared_ptr<StorageLog> log_;
  std::uint32_t id_;
  Bytes bytes_;
  Holding holding_;
  std::uint8_t stream_;
  bool there_;
};

/// The births and deaths of all storages of a run, in order.
class StorageLog : public std::enable_shared_from_this<StorageLog> {
 public:
  std::shared_ptr<Storage> make(Bytes bytes, Holding holding, std::uint8_t stream = 0);
  /// A storage that has no bytes until it returns to the device.
  std::shared_ptr<Storage> make_absent(Bytes bytes, Holding holding, std::uint8_t stream = 0);
  void note(StorageEvent event);
  void at(std::uint32_t place) { place_ = place; }
  /// Storages, workspaces aside, that came into being since that event and are gone never were.
  void forget_lived_since(std::uint64_t event);

  [[nodiscard]] const std::vector<StorageEvent>& events() const { return events_; }
  [[nodiscard]] std::uint32_t storages() const { return next_; }

 private:
  std::vector<StorageEvent> events_;
  std::uint32_t next_ = 0;
  std::uint32_t place_ = 0;
};

}  // namespace plimsoll
