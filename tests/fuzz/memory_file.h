#pragma once

#include <string>
#include <string_view>

namespace plimsoll::test {

/// A file in memory that has a path, for readers that open one. Ends the process when the system gives no memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace plimsoll::test
