#include "sim/stack/tape/map_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plimsoll {
namespace {

constexpr std::int64_t kSparseColumns = 256;
constexpr std::int64_t kRowStart = 4;
constexpr double kColumnIndex = 1;

/// Bytes of a number; never more than it has.
double width_of(MapEncoding encoding, DType dtype) {
  const auto own = static_cast<double>(size_of(dtype));
  switch (encoding) {
    case MapEncoding::kFp16: return std::min(own, 2.0);
    case MapEncoding::kFp10: return std::min(own, 4.0 / 3.0);
    case MapEncoding::kFp8: return std::min(own, 1.0);
    default: return own;
  }
}

std::int64_t whole(double bytes) { return static_cast<std::int64_t>(std::ceil(bytes)); }

std::int64_t dense_bytes(const FeatureMap& map, MapEncoding encoding) {
  return whole(static_cast<double>(map.elements) * width_of(encoding, map.dtype));
}

std::int64_t sparse_bytes(const FeatureMap& map, MapEncoding encoding) {
  const std::int64_t rows = (map.elements + kSparseColumns - 1) / kSparseColumns;
  const double full = (1 - map.zeros) * static_cast<double>(map.elements);
  return rows * kRowStart + whole(full * (width_of(encoding, map.dtype) + kColumnIndex));
}

}  // namespace

std::optional<WaitingMap> encode_map(const FeatureMap& map, const MapCompression& compression) {
  if (!compression.exists()) return std::nullopt;
  const std::int64_t own = map.elements * size_of(map.dtype);
  if (!map.numbers_read) {
    const std::int64_t bits = map.signs_read ? (map.elements + 7) / 8 : 0;
    return WaitingMap{.bytes = Bytes(bits), .decoded = false, .traffic = bits > 0 ? static_cast<double>(own + bits) : 0};
  }
  const std::int64_t dense = dense_bytes(map, compression.encoding), sparse = sparse_bytes(map, compression.encoding);
  const std::int64_t least = std::min(dense, sparse);
  if (least >= own) return std::nullopt;
  // What is sparse is read twice: zeros are counted before the others get their places.
  const double reads = sparse < dense ? 2 : 1;
  return WaitingMap{.bytes = Bytes(least), .decoded = true, .traffic = reads * static_cast<double>(own) + static_cast<double>(least)};
}

std::int64_t bits_of_place(std::int64_t kernel) {
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, kernel * kernel - 1)));
}

double zeros_of_maxima(double zeros, std::int64_t kernel) { return std::pow(zeros, static_cast<double>(kernel * kernel)); }

}  // namespace plimsoll
