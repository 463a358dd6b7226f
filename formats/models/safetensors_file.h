#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

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

  /// Reads `out.size()` bytes of `tensor` from its byte `first` on, as they are stored.
  Result<void> read_bytes(const SafetensorsTensor& tensor, Bytes first, std::span<std::byte> out) const;

 private:
  SafetensorsFile(std::filesystem::path path, OpenFile file, SafetensorsHeader header);

  std::filesystem::path path_;
  OpenFile file_;
  SafetensorsHeader header_;
};

}  // namespace plimsoll
