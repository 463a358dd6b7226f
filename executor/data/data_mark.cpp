#include "executor/data/data_mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/running_digest.h"
#include "formats/text/open_file.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kPart = 64 * kKiB.count, kParts = 16384;
const std::string kPathKey = "data", kMarkKey = "data_mark";

/// The checksum of the parts that begin `stride` bytes apart, and of the last one.
std::string digest_of_parts(const OpenFile& file, std::int64_t size, std::int64_t stride) {
  RunningDigest digest;
  std::vector<std::byte> part(static_cast<std::size_t>(std::min(kPart, size)));
  for (std::int64_t at = 0; at < size; at += stride) {
    const std::int64_t length = std::min(kPart, size - at);
    const std::span<std::byte> bytes = std::span(part).first(static_cast<std::size_t>(length));
    file.read_at(Bytes(at), bytes);
    digest.add(bytes);
  }
  if (stride == kPart) return digest.text();
  file.read_at(Bytes(size - kPart), part);
  digest.add(part);
  return digest.text();
}

}  // namespace

Result<DataMark> mark_data(const std::string& path) {
  const auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  const std::int64_t size = file->size().count;
  const bool whole = size <= kPart * kParts;
  const std::int64_t stride = whole ? kPart : size / (kParts - 1);
  std::string text = fmt::format("{} bytes, xxh3 {}", size, digest_of_parts(*file, size, stride));
  if (!whole) text += " of parts";
  return DataMark{path, std::move(text)};
}

void put_mark(const DataMark& mark, std::map<std::string, std::string>& metadata) {
  metadata[kPathKey] = mark.path;
  metadata[kMarkKey] = mark.text;
}

Result<void> check_same_data(const std::string& state, const std::map<std::string, std::string>& metadata,
                             const DataMark& data) {
  const auto theirs = metadata.find(kMarkKey), name = metadata.find(kPathKey);
  if (theirs == metadata.end() || name == metadata.end() || theirs->second == data.text) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("this is not the data that the training had: {} is of {} ({}), and this file has {}",
                                   state, name->second, theirs->second, data.text),
               .where = data.path,
               .remedy = fmt::format("go on with --data {}, or add --other-data to train on this file from here on",
                                     name->second)});
}

}  // namespace plimsoll
