#include "formats/models/hf_weights.h"

#include <algorithm>
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

}  // namespace

Result<void> read_hf_tensor(const SafetensorsFile& file, const SafetensorsTensor& stored, const HfTensor& wanted,
                            std::span<float> group) {
  const auto place = group.subspan(static_cast<std::size_t>(wanted.offset), static_cast<std::size_t>(wanted.elements()));
  if (!wanted.transposed) return file.read(stored, 0, place);
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
