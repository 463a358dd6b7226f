#include "formats/models/hf_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
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

bool all_finite(std::span<const float> values) {
  std::uint32_t most = 0;  // a loop over whole runs, which a compiler can vectorise
  for (const float value : values) most = std::max(most, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
  return is_finite(std::bit_cast<float>(most));
}

tl::unexpected<Error> not_finite(const SafetensorsFile& file, const HfTensor& tensor, std::span<const float> place) {
  const auto bad = std::find_if_not(place.begin(), place.end(), is_finite);
  const std::int64_t row = (bad - place.begin()) / tensor.columns, column = (bad - place.begin()) % tensor.columns;
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("tensor '{}' holds {} in row {}, column {}", tensor.name, *bad,
                                   tensor.transposed ? column : row, tensor.transposed ? row : column),
               .where = file.path().string(),
               .remedy = "such weights cannot be trained; take the checkpoint from before they broke"});
}

/// Writes file rows [first, first + values ÷ rows) as columns, a few at a time so that their cache lines stay near.
void put_columns(const HfTensor& tensor, std::int64_t first, std::span<const float> values, std::span<float> place) {
  constexpr std::int64_t kNear = 16;
  const std::int64_t count = static_cast<std::int64_t>(values.size()) / tensor.rows;
  for (std::int64_t begin = 0; begin < count; begin += kNear) {
    const std::int64_t end = std::min(count, begin + kNear);
    for (std::int64_t row = 0; row < tensor.rows; ++row) {
      float* out = place.data() + row * tensor.columns + first;
      for (std::int64_t i = begin; i < end; ++i) out[i] = values[i * tensor.rows + row];
    }
  }
}

}  // namespace

Result<void> read_hf_tensor(const SafetensorsFile& file, const SafetensorsTensor& stored, const HfTensor& wanted,
                            std::span<float> group) {
  const auto place = group.subspan(static_cast<std::size_t>(wanted.offset), static_cast<std::size_t>(wanted.elements()));
  if (stored.elements != wanted.elements()) return file.read(stored, 0, place);  // which says what is wrong
  std::atomic<bool> finite{true};
  const auto take = [&](std::int64_t first, std::span<const float> values) {
    if (!all_finite(values)) finite = false;
    if (wanted.transposed) {
      put_columns(wanted, first / wanted.rows, values, place);
    } else {
      std::copy(values.begin(), values.end(), place.begin() + first);
    }
  };
  if (auto read = file.read_runs(stored, wanted.transposed ? wanted.rows : 1, take); !read) return read;
  if (!finite) return not_finite(file, wanted, place);
  return {};
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
