#include "executor/cuda/cufile_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/plan/plan.h"

namespace plimsoll::cuda {
namespace {

[[noreturn]] void fail_with(std::string what, std::string remedy) {
  throw EnvironmentError(
      {.kind = ErrorKind::kEnvironment, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// Bytes that a call moved; throws with the reason where it did not.
std::size_t checked(ssize_t answer, int problem) {
  if (answer > 0 && answer % kStorageAlignment.count == 0) return static_cast<std::size_t>(answer);
  constexpr const char* kRemedy = "look into cufile.log; a run without --direct-storage passes through host memory";
  if (answer == 0) fail_with("the file of SSD data ends too early", {});
  if (answer > 0) fail_with(fmt::format("cuFile moved {} bytes, which are no whole blocks", answer), kRemedy);
  if (answer == -1) fail_with(fmt::format("cuFile: {}", std::strerror(problem)), kRemedy);
  fail_with(fmt::format("cuFile: code {}", -answer), kRemedy);
}

}  // namespace

CuFileHandle::CuFileHandle(std::shared_ptr<const CuFileLibrary> library, const std::string& path, const DriveFile& file)
    : library_(std::move(library)), descriptor_(::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC)) {
  if (descriptor_ < 0)
    fail_with(fmt::format("SSD data in {} cannot be opened anew: {}", file.folder(), std::strerror(errno)), "leave --direct-storage out");
  CuFileDescriptor described;
  described.file.descriptor = descriptor_;
  const CuFileStatus status = library_->register_file(&handle_, &described);
  if (status.code == 0) return;
  ::close(descriptor_);
  fail_with(fmt::format("cuFile does not take a file in {} ({}): {}", file.folder(), file.file_system().name, describe(status)),
            "name a folder on a local NVMe drive with ext4 or XFS (--ssd-folder), look into cufile.log, or leave --direct-storage out");
}

CuFileHandle::~CuFileHandle() {
  library_->deregister_file(handle_);
  ::close(descriptor_);
}

CuFileIo::CuFileIo(std::shared_ptr<const CuFileLibrary> library, const DriveFile& file,
                   std::span<const std::span<std::byte>> pieces, std::function<void()> use_device)
    : library_(std::move(library)), use_device_(std::move(use_device)) {
  use_device_();
  file_ = std::static_pointer_cast<const CuFileHandle>(
      file.kept([&](const std::string& path) { return std::make_shared<CuFileHandle>(library_, path, file); }));
  for (const std::span<std::byte> piece : pieces) {
    const CuFileStatus answer = library_->register_memory(piece.data(), piece.size(), 0);
    if (answer.code == 0) registered_.push_back(piece);
    else unregistered_ = answer;
  }
  std::sort(registered_.begin(), registered_.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
}

CuFileIo::~CuFileIo() {
  try {
    use_device_();
  } catch (const EnvironmentError&) {
    return;  // a device that failed keeps nothing
  }
  for (const std::span<std::byte> piece : registered_) library_->deregister_memory(piece.data());
}

CuFileIo::Place CuFileIo::place_of(const std::byte* data, std::size_t bytes) const {
  const auto after = std::upper_bound(registered_.begin(), registered_.end(), data,
                                      [](const std::byte* at, const std::span<std::byte>& piece) { return at < piece.data(); });
  if (after != registered_.begin()) {
    const std::span<std::byte> piece = *std::prev(after);
    const auto at = static_cast<std::size_t>(data - piece.data());
    if (at < piece.size()) return {piece.data(), at, std::min(bytes, piece.size() - at)};
  }
  const std::size_t until = after == registered_.end() ? bytes : std::min(bytes, static_cast<std::size_t>(after->data() - data));
  return {data, 0, until};
}

template <typename Transfer>
void CuFileIo::move(Bytes offset, const std::byte* data, std::size_t bytes, const Transfer& transfer) const {
  use_device_();
  for (std::size_t done = 0; done < bytes;) {
    const Place place = place_of(data + done, bytes - done);
    const ssize_t answer = transfer(place, offset.count + static_cast<off_t>(done));
    done += checked(answer, errno);
  }
}

void CuFileIo::read(Bytes offset, std::span<std::byte> into, const LookAtBytes&) {
  move(offset, into.data(), into.size(), [&](const Place& place, off_t from) {
    return library_->read(file_->get(), const_cast<std::byte*>(place.base), place.bytes, from, static_cast<off_t>(place.at));
  });
}

void CuFileIo::write(Bytes offset, std::span<const std::byte> from, const LookAtBytes&) {
  move(offset, from.data(), from.size(), [&](const Place& place, off_t to) {
    return library_->write(file_->get(), place.base, place.bytes, to, static_cast<off_t>(place.at));
  });
}

std::string CuFileIo::name() const {
  if (unregistered_.code == 0) return library_->describe();
  return fmt::format("{}, device memory in part unregistered ({})", library_->describe(), describe(unregistered_));
}

}  // namespace plimsoll::cuda
