#include "executor/tiers/drive.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/base/error.h"

namespace plimsoll {
namespace {

Nanoseconds now() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

static_assert(IoDepth{}.chunk.count % ChunkSums::kChunk == 0, "a chunk of the sums is not cut by one of the transfers");

double giga(Bytes bytes) { return static_cast<double>(bytes.count) * 1e-9; }

}  // namespace

Drive::Drive(Bytes bytes, bool direct, const DriveOptions& options)
    : options_(options), wants_direct_(direct), file_(options.folder, bytes, direct) {}

void Drive::resize(Bytes bytes, bool direct) {
  stop();
  wants_direct_ = direct;
  file_.resize(bytes, direct);
  sums_.cut(bytes);
}

void Drive::start(std::span<const std::span<std::byte>> memory, const DeviceReach& device) {
  stop();  // first, so that memory is never pinned twice
  opened_ = open_block_io(file_, memory, options_.way);
  if (options_.interpose) opened_.io = options_.interpose(std::move(opened_.io));
  if (device.memory.empty()) return;
  if (!file_.direct()) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("direct storage needs files that bypass the page cache: {}", why_buffered()),
                            .where = fmt::format("{} ({})", file_.folder(), file_.file_system().name),
                            .remedy = "name another folder with --ssd-folder, or leave --direct-storage out"});
  }
  device_memory_ = device.memory;
  device_io_ = device.open(file_, device_memory_);
  if (options_.interpose) device_io_ = options_.interpose(std::move(device_io_));
}

void Drive::stop() {
  opened_ = {};
  device_io_.reset();
  device_memory_.clear();
}

bool Drive::is_of_device(const std::byte* begin) const {
  return std::any_of(device_memory_.begin(), device_memory_.end(), [&](const std::span<std::byte>& range) {
    return begin >= range.data() && begin < range.data() + range.size();
  });
}

template <typename Work>
void Drive::move(IoDirection direction, std::size_t bytes, const Work& transfer) {
  if (watch_) watch_->begin(now());
  try {
    transfer();
  } catch (const EnvironmentError& failed) {
    Error error = failed.error();
    error.where = "nameless file of SSD data in " + file_.folder();
    throw EnvironmentError(std::move(error));
  }
  if (watch_) watch_->end(now(), direction, Bytes(static_cast<std::int64_t>(bytes)));
}

void Drive::read(Bytes offset, std::span<std::byte> into) {
  if (is_of_device(into.data())) return move(IoDirection::kRead, into.size(), [&] { device_io_->read(offset, into); });
  std::optional<ChunkSums::Chunk> changed;  // told when nothing is on its way any more
  LookAtBytes look;
  if (options_.checksums) {
    look = [&](Bytes at, std::span<const std::byte> bytes) {
      const auto found = sums_.find_changed(at, bytes);
      if (found && (!changed || found->begin < changed->begin)) changed = found;
    };
  }
  move(IoDirection::kRead, into.size(), [&] { opened_.io->read(offset, into, look); });
  if (changed) refuse(*changed);
  forget(offset, into.size());
}

void Drive::refuse(const ChunkSums::Chunk& changed) const {
  const std::string name = name_ ? name_(changed.begin) : std::string();
  throw EnvironmentError(
      {.kind = ErrorKind::kEnvironment,
       .what = fmt::format("bytes {} to {} of the SSD data{}{} are not those that were written: the drive or the "
                           "memory changed them",
                           changed.begin.count, changed.end.count, name.empty() ? "" : ", of ", name),
       .where = "nameless file of SSD data in " + file_.folder(),
       .remedy = "check the drive and the memory"});
}

void Drive::write(Bytes offset, std::span<const std::byte> from) {
  const bool of_device = is_of_device(from.data());
  LookAtBytes look;
  if (options_.checksums && !of_device) look = [&](Bytes at, std::span<const std::byte> bytes) { sums_.wrote(at, bytes); };
  if (of_device) sums_.wrote_unseen(offset, Bytes(static_cast<std::int64_t>(from.size())));
  move(IoDirection::kWrite, from.size(), [&] { (of_device ? device_io_ : opened_.io)->write(offset, from, look); });
  forget(offset, from.size());
  const std::int64_t end = offset.count + static_cast<std::int64_t>(from.size());
  std::int64_t highest = touched_.load();
  while (highest < end && !touched_.compare_exchange_weak(highest, end)) {
  }
}

void Drive::forget(Bytes offset, std::size_t bytes) const {
  if (file_.direct()) return;
  ::posix_fadvise(file_.descriptor(), offset.count, static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
}

std::string Drive::describe() const {
  std::string text = opened_.io->name();
  if (!opened_.reason.empty()) text += fmt::format(" ({})", opened_.reason);
  if (device_io_) text += fmt::format("; to and from the device by {}", device_io_->name());
  if (file_.direct()) return fmt::format("{}, O_DIRECT, {}", text, file_.file_system().name);
  return fmt::format("{}, buffered ({}), {}", text, why_buffered(), file_.file_system().name);
}

std::string_view Drive::why_buffered() const {
  return wants_direct_ ? "the file system refuses O_DIRECT" : "the plan's transfers are not whole blocks";
}

std::string Drive::warning() const {
  const FileSystem& system = file_.file_system();
  const std::string_view warning = system.warning();
  return warning.empty() ? std::string() : fmt::format("{}: {} {}", file_.folder(), system.name, warning);
}

std::optional<RunWarning> Drive::take_slowness() {
  const auto slow = watch_ ? watch_->take() : std::nullopt;
  if (!slow) return std::nullopt;
  const double moved = giga(slow->read + slow->written);
  return RunWarning{
      fmt::format(
          "the drive of {} has become slow: it moved {} read and {} written at {:.3f} GB/s, where {:.3f} GB/s was "
          "expected; look for other programs that use it, for heat, and for free room",
          file_.folder(), to_text(slow->read), to_text(slow->written), moved / slow->seconds,
          moved / slow->planned_seconds),
      slow->reached(watch_->expected())};
}

}  // namespace plimsoll
