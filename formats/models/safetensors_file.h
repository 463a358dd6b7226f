#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "formats/text/open_file.h"
#include "formats/models/safetensors.h"

namespace plimsoll {

/// A safetensors file open for reading by tensor. Reads are positioned, so several threads may share one object.
class SafetensorsFile {
 public:
  /// Opens `path` and checks its header.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Reads `out.size()` elements of `tensor` from element `first` on, as fp32 (exact from F32, BF16 and F16). Another type
  /// or a range beyond the tensor is an error; a failing disk throws EnvironmentError.
  Result<void> read(const SafetensorsTensor& tensor, std::int64_t first, std::span<float> out) const;

  /// Gets values as fp32 and the number of the first.
  using TakeValues = std::function<void(std::int64_t first, std::span<const float> values)>;

  /// Reads all of `tensor` in runs of a multiple of `whole` elements, several at once: `take` is called by several threads, in any
  /// order, and with every element once. Large tensors are read past the page cache. Errors as `read`'s.
  Result<void> read_runs(const SafetensorsTensor& tensor, std::int64_t whole, const TakeValues& take) const;

  /// The bytes before the data: the header's length and its text.
  [[nodiscard]] std::string read_head() const;

  /// Reads `out.size()` bytes of `tensor` from its byte `first` on, as they are stored.
  Result<void> read_bytes(const SafetensorsTensor& tensor, Bytes first, std::span<std::byte> out) const;

 private:
  [[nodiscard]] Result<void> check_float(const SafetensorsTensor& tensor) const;

  SafetensorsFile(std::filesystem::path path, OpenFile file, SafetensorsHeader header);

  std::filesystem::path path_;
  OpenFile file_;
  SafetensorsHeader header_;
};

}  // namespace plimsoll
