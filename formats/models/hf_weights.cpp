#include "formats/models/hf_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace plimsoll {
namespace {

constexpr std::int64_t kPieceElements = std::int64_t{1} << 20;

/// Whole rows of the file that one piece holds; at least one.
std::int64_t rows_per_piece(const HfTensor& tensor) { return std::max<std::int64_t>(1, kPieceElements / tensor.rows); }

/// Calls `visit(first file row, rows)` for consecutive pieces of a transposed tensor, whose file rows are our columns.
template <typename Visit>
Result<void> for_each_piece(const HfTensor& tensor, Visit visit) {
  const std::int64_t step = rows_per_piece(tensor);
  for (std::int64_t first = 0; first < tensor.columns; first += step) {
    if (auto done = visit(first, std::min(step, tensor.columns - first)); !done) return done;
  }
  return {};
}

bool is_finite(float value) { return (std::bit_cast<std::uint32_t>(value) & 0x7fffffffu) < 0x7f800000u; }

Result<void> check_finite(const SafetensorsFile& file, const HfTensor& tensor, std::span<const float> place) {
  std::uint32_t most = 0;  // a loop over whole tensors, which a compiler can vectorise
  for (const float value : place) most = std::max(most, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
  if (is_finite(std::bit_cast<float>(most))) return {};
  const auto bad = std::find_if_not(place.begin(), place.end(), is_finite);
  const std::int64_t row = (bad - place.begin()) / tensor.columns, column = (bad - place.begin()) % tensor.columns;
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("tensor '{}' holds {} in row {}, column {}", tensor.name, *bad,
                                   tensor.transposed ? column : row, tensor.transposed ? row : column),
               .where = file.path().string(),
               .remedy = "such weights cannot be trained; take the checkpoint from before they broke"});
}

/// Reads a tensor that the file holds as [columns, rows], a few of its rows at a time.
Result<void> read_transposed(const SafetensorsFile& file, const SafetensorsTensor& stored, const HfTensor& wanted,
                             std::span<float> place) {
  std::vector<float> piece(static_cast<std::size_t>(rows_per_piece(wanted) * wanted.rows));
  return for_each_piece(wanted, [&](std::int64_t first, std::int64_t count) -> Result<void> {
    const std::span values = std::span(piece).first(static_cast<std::size_t>(count * wanted.rows));
    if (auto done = file.read(stored, first * wanted.rows, values); !done) return done;
    for (std::int64_t row = 0; row < wanted.rows; ++row) {
      for (std::int64_t i = 0; i < count; ++i) place[row * wanted.columns + first + i] = values[i * wanted.rows + row];
    }
    return {};
  });
}

}  // namespace

Result<void> read_hf_tensor(const SafetensorsFile& file, const SafetensorsTensor& stored, const HfTensor& wanted,
                            std::span<float> group) {
  const auto place = group.subspan(static_cast<std::size_t>(wanted.offset), static_cast<std::size_t>(wanted.elements()));
  const auto read = wanted.transposed ? read_transposed(file, stored, wanted, place) : file.read(stored, 0, place);
  return read ? check_finite(file, wanted, place) : read;
}

Result<void> append_hf_tensor(SafetensorsWriter& writer, const HfTensor& tensor, std::span<const float> group) {
  const auto place = group.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.elements()));
  if (!tensor.transposed) return writer.append(tensor.name, place);
  std::vector<float> piece(static_cast<std::size_t>(rows_per_piece(tensor) * tensor.rows));
  return for_each_piece(tensor, [&](std::int64_t first, std::int64_t count) {
    const std::span values = std::span(piece).first(static_cast<std::size_t>(count * tensor.rows));
    for (std::int64_t row = 0; row < tensor.rows; ++row) {
      for (std::int64_t i = 0; i < count; ++i) values[i * tensor.rows + row] = place[row * tensor.columns + first + i];
    }
    return writer.append(tensor.name, values);
  });
}

SafetensorsPlan plan_hf_file(const std::vector<HfTensor>& tensors, StoredType type) {
  SafetensorsPlan plan{.type = type, .tensors = {}, .metadata = {{"format", "pt"}}};  // transformers looks for "format"
  for (const HfTensor& tensor : tensors) plan.tensors.push_back({.name = tensor.name, .shape = tensor.shape});
  return plan;
}

}  // namespace plimsoll
