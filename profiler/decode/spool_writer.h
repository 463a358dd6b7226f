#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/decode/spool_records.h"

namespace plimsoll {

/// Writes a spool: cheap enough to be called while a program is measured, from any thread. It stands in programs that are not
/// ours, so it never throws, prints or ends anything: what the disk refuses is counted, and the count is the last thing written.
class SpoolWriter {
 public:
  /// Creates `path`; `ok` says whether that worked.
  SpoolWriter(const std::string& path, SpoolHeader header);
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  [[nodiscard]] bool ok() const { return descriptor_ >= 0; }
  /// The number of a text; written before the first record that names it.
  std::uint32_t name(std::string_view text);

  template <typename Record>
  void add(const Record& record) {
    const std::lock_guard lock(mutex_);
    append(spool_tag<Record>(), &record, sizeof(record));
  }

  /// Hands all complete records to the operating system.
  void flush();
  /// Ends the spool; nothing can be added afterwards.
  void close();
  /// Forgets the file without a word: for a forked child, whose parent goes on writing it.
  void abandon();

 private:
  void append(std::uint16_t tag, const void* bytes, std::size_t size);
  void write_block();
  [[nodiscard]] bool write_all(const void* bytes, std::size_t size);

  std::mutex mutex_;
  int descriptor_ = -1;
  std::vector<std::byte> block_;
  /// Found by any text, without a copy of it.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> names_;
  std::uint64_t blocks_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t in_block_ = 0;
  std::uint64_t lost_ = 0;  ///< records that could not be written
};

}  // namespace plimsoll
