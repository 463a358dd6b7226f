#include "tests/fuzz/read_trace_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "formats/traces/read_recording.h"
#include "sim/replay/replay.h"

namespace plimsoll::test {
namespace {

/// A file in memory that has a path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* bytes, std::size_t size) : descriptor_(::memfd_create("trace", 0)) {
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, bytes, size);
      if (written <= 0) std::abort();
      bytes += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

void read_trace_bytes(const std::uint8_t* bytes, std::size_t size) {
  const MemoryFile file(bytes, size);
  const auto recording = read_recording(file.path());
  if (!recording) return require(!recording.error().what.empty());
  for (const DeviceWork& work : recording->work) {
    require(work.start <= work.end && work.name.index < recording->names.size());
    require(work.shape == kNoShape || work.shape < recording->shapes.size());
  }
  for (const HostCall& call : recording->calls) require(call.start <= call.end && call.thread < recording->threads.size());
  static_cast<void>(replay(*recording));
}

}  // namespace plimsoll::test
