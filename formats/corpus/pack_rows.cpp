#include "formats/corpus/pack_rows.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace plimsoll {
namespace {

constexpr std::size_t kPackAtTokens = std::size_t{1} << 22;  ///< as many wait at once: some 25 MB

/// Which row each of `lengths` goes to: best fit, the longest first, the earlier of equals first (Johnson 1974: at most
/// 11/9 of the fewest rows, and some).
std::vector<std::size_t> best_fit(const std::vector<std::size_t>& lengths, std::size_t row) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  std::multimap<std::size_t, std::size_t> free;  // what is free of which row
  std::vector<std::size_t> row_of(lengths.size());
  std::size_t rows = 0;
  for (const std::size_t i : order) {
    auto place = free.lower_bound(lengths[i]);
    if (place == free.end()) place = free.emplace(row, rows++);
    row_of[i] = place->second;
    const std::size_t left = place->first - lengths[i];
    free.erase(place);
    if (left > 0) free.emplace(left, row_of[i]);
  }
  return row_of;
}

}  // namespace

RowPacker::RowPacker(std::int64_t row, TokenId padding, Sink sink)
    : row_(static_cast<std::size_t>(row)), padding_(padding), sink_(std::move(sink)) {}

void RowPacker::take(const Example& example, std::size_t begin, std::size_t end) {
  const auto from = static_cast<std::ptrdiff_t>(begin);
  const auto to = static_cast<std::ptrdiff_t>(end);
  Example part{.tokens = {example.tokens.begin() + from, example.tokens.begin() + to},
               .counts = {example.counts.begin() + from, example.counts.begin() + to}};
  part.counts.front() = false;
  waiting_tokens_ += part.tokens.size();
  waiting_.push_back(std::move(part));
}

void RowPacker::add(const Example& example) {
  const std::size_t size = example.tokens.size();
  if (size > row_) ++cut_;
  for (std::size_t begin = 0; begin < size; begin += row_ - 1) {
    const std::size_t end = std::min(begin + row_, size);
    take(example, begin, end);
    if (end == size) break;
  }
  if (waiting_tokens_ >= kPackAtTokens) pack();
}

void RowPacker::finish() { pack(); }

void RowPacker::pack() {
  std::vector<std::size_t> lengths;
  for (const Example& part : waiting_) lengths.push_back(part.tokens.size());
  const std::vector<std::size_t> row_of = best_fit(lengths, row_);
  std::vector<Example> rows;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (rows.size() <= row_of[i]) rows.resize(row_of[i] + 1);
    Example& row = rows[row_of[i]];
    row.tokens.insert(row.tokens.end(), waiting_[i].tokens.begin(), waiting_[i].tokens.end());
    row.counts.insert(row.counts.end(), waiting_[i].counts.begin(), waiting_[i].counts.end());
  }
  for (Example& row : rows) {
    padded_ += static_cast<std::int64_t>(row_ - row.tokens.size());
    row.tokens.resize(row_, padding_);
    row.counts.resize(row_, false);
    sink_(row);
  }
  rows_ += static_cast<std::int64_t>(rows.size());
  waiting_.clear();
  waiting_tokens_ = 0;
}

}  // namespace plimsoll
