#include "executor/data/image_batches.h"

#include <vector>

#include "executor/data/record_order.h"
#include "formats/models/half_floats.h"

namespace plimsoll {
namespace {

/// One image of a batch in the type that compute has.
void write_image(const ImageInput& image, std::span<const std::byte> pixels, DType dtype, std::span<std::byte> place) {
  if (dtype == DType::kFp64) return write_patches(image, pixels, part_as<double>(place));
  if (dtype == DType::kFp32) return write_patches(image, pixels, part_as<float>(place));
  std::vector<float> wide(place.size() / 2);
  write_patches(image, pixels, std::span(wide));
  const auto narrow = part_as<std::uint16_t>(place);
  for (std::size_t i = 0; i < wide.size(); ++i)
    narrow[i] = dtype == DType::kBf16 ? bf16_from_float(wide[i]) : fp16_from_float(wide[i]);
}

}  // namespace

template <typename T>
void write_patches(const ImageInput& image, std::span<const std::byte> pixels, std::span<T> patches) {
  auto out = patches.begin();
  for (std::int64_t top = 0; top < image.size; top += image.patch) {
    for (std::int64_t left = 0; left < image.size; left += image.patch) {
      for (std::int64_t channel = 0; channel < image.channels; ++channel) {
        const double mean = image.mean[static_cast<std::size_t>(channel)];
        const double deviation = image.deviation[static_cast<std::size_t>(channel)];
        for (std::int64_t i = 0; i < image.patch * image.patch; ++i) {
          const std::int64_t row = top + i / image.patch, column = left + i % image.patch;
          const auto at = static_cast<std::size_t>((channel * image.size + row) * image.size + column);
          *out++ = static_cast<T>((std::to_integer<int>(pixels[at]) / 255.0 - mean) / deviation);
        }
      }
    }
  }
}

template void write_patches<float>(const ImageInput&, std::span<const std::byte>, std::span<float>);
template void write_patches<double>(const ImageInput&, std::span<const std::byte>, std::span<double>);

Result<void> ImageBatches::check(const ModelSpec& spec, const Recipe&) const {
  if (spec.image == spec_.image && spec.classes == spec_.classes) return {};
  return fail({.kind = ErrorKind::kInput, .what = "these images are for another model", .where = spec.name, .remedy = {}});
}

void ImageBatches::fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const {
  const auto labels = part_as<std::int32_t>(parts[1]);
  const std::size_t bytes = parts[0].size() / static_cast<std::size_t>(recipe.micro_batch);  // of an image's patches
  std::vector<std::byte> pixels(static_cast<std::size_t>(spec_.image.pixels()));
  for (std::int64_t row = 0; row < recipe.micro_batch; ++row) {
    const std::int64_t record = record_of_row(place, recipe.micro_batch, row, records_.size());
    records_.read(record, pixels);
    const auto at = static_cast<std::size_t>(row);
    write_image(spec_.image, pixels, compute_dtype(recipe.precision), parts[0].subspan(at * bytes, bytes));
    labels[at] = static_cast<std::int32_t>(records_.label(record));
  }
}

}  // namespace plimsoll
