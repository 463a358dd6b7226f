#include "formats/tokenizers/merge_symbols.h"

#include <queue>

namespace plimsoll {
namespace {

constexpr std::int32_t kNone = -1;

struct Symbol {
  std::int32_t token = 0;  ///< kNone once its neighbour on the left took it over
  std::int32_t left = kNone;
  std::int32_t right = kNone;
};

/// A pair that might be joined; stale when its symbols have changed since.
struct Candidate {
  std::int32_t rank = 0;
  std::int32_t at = 0;  ///< the left symbol's place
  std::int32_t left_token = 0;
  std::int32_t right_token = 0;
  std::int32_t joined = 0;

  /// For a queue that yields its largest element first.
  friend bool operator<(const Candidate& a, const Candidate& b) { return a.rank != b.rank ? a.rank > b.rank : a.at > b.at; }
};

class Merging {
 public:
  Merging(const PairTable& merges, const std::vector<std::int32_t>& tokens) : merges_(merges) {
    symbols_.reserve(tokens.size());
    const auto count = static_cast<std::int32_t>(tokens.size());
    for (std::int32_t i = 0; i < count; ++i) {
      symbols_.push_back({tokens[static_cast<std::size_t>(i)], i - 1, i + 1 < count ? i + 1 : kNone});
    }
    for (std::int32_t i = 0; i + 1 < count; ++i) consider(i);
  }

  void run() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      Symbol& left = at(best.at);
      if (left.token != best.left_token || left.right == kNone) continue;
      if (at(left.right).token != best.right_token) continue;
      join(best);
    }
  }

  void write(std::vector<std::int32_t>& tokens) const {
    tokens.clear();
    for (const Symbol& symbol : symbols_) {
      if (symbol.token != kNone) tokens.push_back(symbol.token);
    }
  }

 private:
  Symbol& at(std::int32_t place) { return symbols_[static_cast<std::size_t>(place)]; }

  void consider(std::int32_t place) {
    const Symbol& left = at(place);
    const Symbol& right = at(left.right);
    if (const Merge* merge = merges_.find(left.token, right.token)) {
      queue_.push({merge->rank, place, left.token, right.token, merge->joined});
    }
  }

  void join(const Candidate& best) {
    Symbol& left = at(best.at);
    Symbol& right = at(left.right);
    left.token = best.joined;
    left.right = right.right;
    right.token = kNone;
    if (left.right != kNone) {
      at(left.right).left = best.at;
      consider(best.at);
    }
    if (left.left != kNone) consider(left.left);
  }

  const PairTable& merges_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

void merge_symbols(const PairTable& merges, std::vector<std::int32_t>& symbols) {
  if (symbols.size() < 2) return;
  Merging merging(merges, symbols);
  merging.run();
  merging.write(symbols);
}

}  // namespace plimsoll
