#include "formats/models/safetensors_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "formats/models/half_floats.h"

namespace plimsoll {
namespace {

constexpr std::size_t kPieceElements = 1 << 16;

tl::unexpected<Error> bad(const SafetensorsFile& file, const SafetensorsTensor& tensor, std::string what) {
  return fail({.kind = ErrorKind::kInput,
               .what = std::move(what),
               .where = fmt::format("{}: tensor '{}'", file.path().string(), tensor.name),
               .remedy = {}});
}

/// The conversion is chosen outside the loop, where the compiler can inline it.
void widen(StoredType type, std::span<const std::uint16_t> halves, std::span<float> out) {
  if (type == StoredType::kBf16) {
    std::transform(halves.begin(), halves.end(), out.begin(), [](std::uint16_t bits) { return float_from_bf16(bits); });
  } else {
    std::transform(halves.begin(), halves.end(), out.begin(), [](std::uint16_t bits) { return float_from_fp16(bits); });
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path, OpenFile file, SafetensorsHeader header)
    : path_(std::move(path)), file_(std::move(file)), header_(std::move(header)) {}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto header = read_safetensors_header(path);
  if (!header) return fail(header.error());
  auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  return SafetensorsFile(path, std::move(*file), std::move(*header));
}

Result<void> SafetensorsFile::read_bytes(const SafetensorsTensor& tensor, Bytes first, std::span<std::byte> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  if (first < Bytes(0) || first > tensor.bytes || count > (tensor.bytes - first).count) {
    return bad(*this, tensor, fmt::format("bytes {} to {} lie beyond its {} bytes", first.count, first.count + count,
                                          tensor.bytes.count));
  }
  file_.read_at(tensor.offset + first, out);
  return {};
}

Result<void> SafetensorsFile::read(const SafetensorsTensor& tensor, std::int64_t first, std::span<float> out) const {
  const bool half = tensor.type == StoredType::kBf16 || tensor.type == StoredType::kF16;
  if (!half && tensor.type != StoredType::kF32) {
    return bad(*this, tensor, fmt::format("expected F32, BF16 or F16 values, found {}", to_text(tensor.type)));
  }
  const auto count = static_cast<std::int64_t>(out.size());
  if (first < 0 || first > tensor.elements || count > tensor.elements - first) {
    return bad(*this, tensor, fmt::format("elements from {} on, {} of them, lie beyond its {}", first, count, tensor.elements));
  }
  if (!half) return read_bytes(tensor, Bytes(first * 4), std::as_writable_bytes(out));
  std::vector<std::uint16_t> halves(std::min(out.size(), kPieceElements));
  while (!out.empty()) {
    const std::span piece = std::span(halves).first(std::min(out.size(), kPieceElements));
    file_.read_at(tensor.offset + Bytes(first * 2), std::as_writable_bytes(piece));
    widen(tensor.type, piece, out.first(piece.size()));
    out = out.subspan(piece.size());
    first += static_cast<std::int64_t>(piece.size());
  }
  return {};
}

}  // namespace plimsoll
