#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "formats/corpus/example.h"

namespace plimsoll {

/// Packs examples into rows of one length, whole where they are not longer than a row, so that no text is trained on without
/// its beginning. Rows are filled by best fit, longest example first, among so many examples at a time; what stays free is
/// padding that does not count. The first token of an example never counts: nothing of its own stands before it.
class RowPacker {
 public:
  using Sink = std::function<void(const Example& row)>;

  /// `padding` fills what stays free.
  RowPacker(std::int64_t row, TokenId padding, Sink sink);

  /// One longer than a row is cut; each further part begins with the last token of the one before, which then counts once.
  void add(const Example& example);
  /// Packs what waits.
  void finish();

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t padding() const { return padded_; }
  [[nodiscard]] std::int64_t cut() const { return cut_; }  ///< examples longer than a row

 private:
  void take(const Example& example, std::size_t begin, std::size_t end);
  void pack();

  std::size_t row_;
  TokenId padding_;
  Sink sink_;
  std::vector<Example> waiting_;
  std::size_t waiting_tokens_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t padded_ = 0;
  std::int64_t cut_ = 0;
};

}  // namespace plimsoll
