#include "executor/tiers/drive.h"

#include <fcntl.h>
#include <fmt/format.h>

namespace plimsoll {

Drive::Drive(Bytes bytes, bool direct, const DriveOptions& options)
    : way_(options.way), wants_direct_(direct), file_(options.folder, bytes, direct) {}

void Drive::start(std::span<const std::span<std::byte>> memory) { opened_ = open_block_io(file_, memory, way_); }

void Drive::read(Bytes offset, std::span<std::byte> into) {
  opened_.io->read(offset, into);
  forget(offset, into.size());
}

void Drive::write(Bytes offset, std::span<const std::byte> from) {
  opened_.io->write(offset, from);
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
  return system.warning.empty() ? std::string() : fmt::format("{}: {} {}", file_.folder(), system.name, system.warning);
}

}  // namespace plimsoll
