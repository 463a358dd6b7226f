#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "formats/text/open_file.h"

namespace plimsoll {

/// Images and their classes in one file, as CIFAR-10 has them in its binary version: each record is a label and then the
/// pixels, a byte each, channel by channel, row by row. A label takes one byte, or two (little-endian) where the model has more
/// than 256 classes. Records are read when they are asked for.
class ImageRecords {
 public:
  /// Errors name the file, and the record where there is one: no whole number of records of the model's image size, a label
  /// beyond the classes.
  static Result<ImageRecords> open(const std::string& path, const ModelSpec& spec);

  [[nodiscard]] std::int64_t size() const { return count_; }
  [[nodiscard]] std::int64_t label(std::int64_t index) const;
  /// Fills `pixels`, which has the image's size.
  void read(std::int64_t index, std::span<std::byte> pixels) const;

 private:
  ImageRecords(OpenFile file, std::string path, const ModelSpec& spec);

  OpenFile file_;
  std::string path_;
  std::int64_t classes_;
  std::int64_t label_bytes_, record_bytes_, count_;
};

}  // namespace plimsoll
