#include "formats/models/safetensors_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "formats/models/half_floats.h"
#include "formats/text/read_in_pieces.h"

namespace plimsoll {
namespace {

constexpr std::size_t kPieceElements = 1 << 16;
constexpr std::int64_t kRunElements = 1 << 16;     // converted and taken while they are in a core's cache
constexpr std::int64_t kPieceBytes = 4 * kMiB.count;  // of one read

tl::unexpected<Error> bad(const SafetensorsFile& file, const SafetensorsTensor& tensor, std::string what) {
  return fail({.kind = ErrorKind::kInput,
               .what = std::move(what),
               .where = fmt::format("{}: tensor '{}'", file.path().string(), tensor.name),
               .remedy = {}});
}

/// As many values as `out` has from bytes that may lie anywhere. The conversion is given as a type, so that the compiler can
/// inline it.
template <typename Widen>
void widen_halves(const std::byte* stored, std::span<float> out, Widen widen_one) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, stored + i * sizeof(bits), sizeof(bits));
    out[i] = widen_one(bits);
  }
}

void widen(StoredType type, const std::byte* stored, std::span<float> out) {
  if (type == StoredType::kF32) {
    std::memcpy(out.data(), stored, out.size_bytes());
  } else if (type == StoredType::kBf16) {
    widen_halves(stored, out, [](std::uint16_t bits) { return float_from_bf16(bits); });
  } else {
    widen_halves(stored, out, [](std::uint16_t bits) { return float_from_fp16(bits); });
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

std::string SafetensorsFile::read_head() const {
  Bytes end = header_.file_bytes;
  for (const SafetensorsTensor& tensor : header_.tensors) end = std::min(end, tensor.offset);
  std::string head(static_cast<std::size_t>(end.count), '\0');
  file_.read_at(Bytes(0), std::as_writable_bytes(std::span(head)));
  return head;
}

Result<void> SafetensorsFile::check_float(const SafetensorsTensor& tensor) const {
  const bool known = tensor.type == StoredType::kF32 || tensor.type == StoredType::kBf16 || tensor.type == StoredType::kF16;
  if (known) return {};
  return bad(*this, tensor, fmt::format("expected F32, BF16 or F16 values, found {}", to_text(tensor.type)));
}

Result<void> SafetensorsFile::read_runs(const SafetensorsTensor& tensor, std::int64_t whole, const TakeValues& take) const {
  if (auto readable = check_float(tensor); !readable) return readable;
  const std::int64_t element = tensor.type == StoredType::kF32 ? 4 : 2;
  const std::int64_t run = std::max<std::int64_t>(1, kRunElements / whole) * whole;
  const std::int64_t runs = std::max<std::int64_t>(1, kPieceBytes / (run * element));
  read_in_pieces(file_, tensor.offset, tensor.bytes, Bytes(runs * run * element), [&](Bytes at, std::span<const std::byte> piece) {
    const std::int64_t first = at.count / element;
    const std::int64_t count = static_cast<std::int64_t>(piece.size()) / element;
    std::vector<float> values(static_cast<std::size_t>(std::min(run, count)));
    for (std::int64_t i = 0; i < count; i += run) {
      const std::span some = std::span(values).first(static_cast<std::size_t>(std::min(run, count - i)));
      widen(tensor.type, piece.data() + i * element, some);
      take(first + i, some);
    }
  });
  return {};
}

Result<void> SafetensorsFile::read(const SafetensorsTensor& tensor, std::int64_t first, std::span<float> out) const {
  if (auto readable = check_float(tensor); !readable) return readable;
  const auto count = static_cast<std::int64_t>(out.size());
  if (first < 0 || first > tensor.elements || count > tensor.elements - first) {
    return bad(*this, tensor, fmt::format("elements from {} on, {} of them, lie beyond its {}", first, count, tensor.elements));
  }
  if (tensor.type == StoredType::kF32) return read_bytes(tensor, Bytes(first * 4), std::as_writable_bytes(out));
  std::vector<std::byte> halves(2 * std::min(out.size(), kPieceElements));
  while (!out.empty()) {
    const std::span piece = out.first(std::min(out.size(), kPieceElements));
    file_.read_at(tensor.offset + Bytes(first * 2), std::span(halves).first(2 * piece.size()));
    widen(tensor.type, halves.data(), piece);
    out = out.subspan(piece.size());
    first += static_cast<std::int64_t>(piece.size());
  }
  return {};
}

}  // namespace plimsoll
