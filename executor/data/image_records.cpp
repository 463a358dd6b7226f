#include "executor/data/image_records.h"

#include <fmt/format.h>

#include <array>

namespace plimsoll {

ImageRecords::ImageRecords(OpenFile file, std::string path, const ModelSpec& spec)
    : file_(std::move(file)),
      path_(std::move(path)),
      classes_(spec.classes),
      label_bytes_(spec.classes > 256 ? 2 : 1),
      record_bytes_(label_bytes_ + spec.image.pixels()),
      count_(file_.size().count / record_bytes_) {}

Result<ImageRecords> ImageRecords::open(const std::string& path, const ModelSpec& spec) {
  const auto bad = [&](std::string what) {
    return fail({.kind = ErrorKind::kInput,
                 .what = std::move(what),
                 .where = path,
                 .remedy = fmt::format("a record is a label of {} and {} x {} x {} bytes of pixels",
                                       spec.classes > 256 ? "two bytes" : "a byte", spec.image.channels, spec.image.size, spec.image.size)});
  };
  auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  const std::int64_t bytes = file->size().count;
  ImageRecords records(std::move(*file), path, spec);
  if (bytes == 0 || bytes % records.record_bytes_ != 0) {
    return bad(fmt::format("the file's {} bytes are no whole number of records of {} bytes", bytes, records.record_bytes_));
  }
  for (std::int64_t i = 0; i < records.count_; ++i) {
    const std::int64_t label = records.label(i);
    if (label >= spec.classes)
      return bad(fmt::format("record {}: the label {} is beyond the {} classes", i, label, spec.classes));
  }
  return records;
}

std::int64_t ImageRecords::label(std::int64_t index) const {
  std::array<std::byte, 2> raw{};
  file_.read_at(Bytes(index * record_bytes_), std::span(raw).first(static_cast<std::size_t>(label_bytes_)));
  return std::to_integer<std::int64_t>(raw[0]) | std::to_integer<std::int64_t>(raw[1]) << 8;
}

void ImageRecords::read(std::int64_t index, std::span<std::byte> pixels) const {
  file_.read_at(Bytes(index * record_bytes_ + label_bytes_), pixels);
}

}  // namespace plimsoll
