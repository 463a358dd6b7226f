#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/running_digest.h"
#include "formats/text/open_file.h"
#include "formats/models/safetensors.h"

namespace plimsoll {

/// What a SafetensorsWriter will write: names and shapes in file order, one element type (F32, F64 or BF16) for all that is
/// not bytes.
struct SafetensorsPlan {
  struct Entry {
    std::string name;
    std::vector<std::int64_t> shape;
    bool bytes = false;  ///< U8, which append_bytes takes as they are
  };
  StoredType type = StoredType::kF32;
  std::vector<Entry> tensors;
  std::map<std::string, std::string> metadata;
  bool checksums = false;  ///< the metadata get one of the header and one of each tensor (safetensors_checksums.h)
};

/// Bytes of the file that a SafetensorsWriter would write of it, or why it would not.
Result<Bytes> size_of_safetensors(SafetensorsPlan plan);

/// Where a file's bytes go until it is finished.
enum class WritePlace {
  kBeside,   ///< into `path.tmp`, which then takes the name; until then an older `path` stays as it was
  kOverSpare,  ///< the same, over the bytes of a `path.tmp` that no other name means: the disk need not find room for them
  kInPlace,  ///< over an older file of about the same size, which asks the disk for no room; it is of no use until finished
};

/// Writes a safetensors file front to back; finish() makes it durable, and beside an older one in one atomic step.
/// Destroying an unfinished writer removes the temporary file. One thread at a time.
class SafetensorsWriter {
 public:
  /// Writes the header. A plan with a name twice, a negative size or another type is an input error; a disk that refuses
  /// throws EnvironmentError.
  static Result<SafetensorsWriter> create(const std::filesystem::path& path, SafetensorsPlan plan,
                                          WritePlace place = WritePlace::kBeside);

  SafetensorsWriter(SafetensorsWriter&& other) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
  ~SafetensorsWriter();

  /// Appends the next values of tensor `name`, rounding to nearest even for BF16. Tensors come in the plan's order, each
  /// in as many pieces as is convenient; values out of turn or beyond the shape are a defect and nothing is written.
  Result<void> append(std::string_view name, std::span<const float> values);

  /// The same of a file of F64, which takes no floats.
  Result<void> append_doubles(std::string_view name, std::span<const double> values);

  /// The same for a tensor of bytes.
  Result<void> append_bytes(std::string_view name, std::span<const std::byte> values);

  /// Bytes of the whole file.
  [[nodiscard]] Bytes size() const { return final_size_; }

  /// Flushes to the disk and renames. An incomplete tensor is a defect, and the file is not made.
  Result<void> finish();

 private:
  SafetensorsWriter(std::filesystem::path path, std::filesystem::path temporary, OpenFile file, SafetensorsPlan plan,
                    std::vector<std::int64_t> elements, bool over_older);
  [[nodiscard]] Result<void> check_turn(std::string_view name, std::size_t count, bool bytes) const;
  [[nodiscard]] Result<void> check_width(std::string_view name, bool doubles) const;
  void append_stored(std::span<const std::byte> stored);
  void append_bf16(std::span<const float> values);
  void count(std::size_t written);
  void write_checksums();
  void take_name();
  void skip_complete_tensors();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty once there is nothing to remove
  OpenFile file_;
  SafetensorsPlan plan_;
  std::vector<std::int64_t> elements_;  ///< by tensor
  bool over_older_ = false;             ///< bytes of an older file, which may be more
  std::size_t current_ = 0;
  std::int64_t written_ = 0;  ///< elements of the current tensor
  Bytes final_size_;
  RunningDigest digest_;  ///< of the current tensor
};

}  // namespace plimsoll
