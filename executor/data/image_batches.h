#pragma once

#include "executor/data/batch_source.h"
#include "executor/data/image_records.h"

namespace plimsoll {

/// Batches of images, cut into patches and normalized, with their labels.
class ImageBatches final : public BatchSource {
 public:
  ImageBatches(ImageRecords records, ModelSpec spec) : records_(std::move(records)), spec_(std::move(spec)) {}

  [[nodiscard]] Result<void> check(const ModelSpec& spec, const Recipe& recipe) const override;
  void fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const override;

 private:
  ImageRecords records_;
  ModelSpec spec_;
};

/// Writes an image's patches one after another, rows of patches first; within a patch channels, rows, columns.
template <typename T>
void write_patches(const ImageInput& image, std::span<const std::byte> pixels, std::span<T> patches);

}  // namespace plimsoll
