#include "executor/tiers/drive.h"

#include <fcntl.h>
#include <fmt/format.h>

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
  opened_ = {};
  wants_direct_ = direct;
  file_.resize(bytes, direct);
  sums_.cut(bytes);
}

void Drive::start(std::span<const std::span<std::byte>> memory) {
  opened_ = {};  // first, so that memory is never pinned twice
  opened_ = open_block_io(file_, memory, options_.way);
  if (options_.interpose) opened_.io = options_.interpose(std::move(opened_.io));
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
  LookAtBytes look;
  if (options_.checksums) look = [&](Bytes at, std::span<const std::byte> bytes) { sums_.wrote(at, bytes); };
  move(IoDirection::kWrite, from.size(), [&] { opened_.io->write(offset, from, look); });
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
  if (file_.direct()) return fmt::format("{}, O_DIRECT, {}", text, file_.file_system().name);
  const char* why = wants_direct_ ? "the file system refuses O_DIRECT" : "the plan's transfers are not whole blocks";
  return fmt::format("{}, buffered ({}), {}", text, why, file_.file_system().name);
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
