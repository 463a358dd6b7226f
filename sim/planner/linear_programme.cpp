#include "sim/planner/linear_programme.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

constexpr double kZero = 1e-9;
/// Far more than any programme of ours takes: steps that round in a circle end here.
constexpr int kMostPivots = 10'000;

/// basic = limit - factors · free, one row each; the gain is what is made largest. Variables: those of the programme, then one
/// slack a row, then the one that phase one drives to 0.
class Table {
 public:
  explicit Table(const LinearProgramme& programme)
      : rows_(programme.rows), limits_(programme.limits), gain_(programme.cost.size() + 1, 0.0) {
    const std::size_t count = programme.cost.size();
    for (std::size_t i = 0; i < count; ++i) free_.push_back(i);
    free_.push_back(count + rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].push_back(-1);
      basic_.push_back(count + i);
    }
  }

  /// Phase one: whether any x keeps to the limits; afterwards the table stands at one.
  bool find_any() {
    const auto worst = std::min_element(limits_.begin(), limits_.end());
    if (worst != limits_.end() && *worst < 0) {
      const std::size_t spare = gain_.size() - 1;
      gain_[spare] = -1;
      pivot(static_cast<std::size_t>(worst - limits_.begin()), spare);
      climb();
    }
    return drop_spare();
  }

  /// Phase two; false where the cost has no least.
  bool minimise(const std::vector<double>& cost) {
    std::fill(gain_.begin(), gain_.end(), 0.0);
    for (std::size_t c = 0; c < free_.size(); ++c) {
      if (free_[c] < cost.size()) gain_[c] -= cost[free_[c]];
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (basic_[r] >= cost.size()) continue;
      for (std::size_t c = 0; c < free_.size(); ++c) gain_[c] += cost[basic_[r]] * rows_[r][c];
    }
    return climb();
  }

  [[nodiscard]] std::vector<double> values(std::size_t count) const {
    std::vector<double> x(count, 0.0);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (basic_[r] < count) x[basic_[r]] = std::max(0.0, limits_[r]);
    }
    return x;
  }

 private:
  void pivot(std::size_t row, std::size_t column) {
    std::vector<double>& out = rows_[row];
    const double by = out[column];
    for (double& factor : out) factor /= by;
    out[column] = 1 / by;
    limits_[row] /= by;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (r == row) continue;
      limits_[r] -= rows_[r][column] * limits_[row];
      replace(rows_[r], out, column);
    }
    replace(gain_, out, column);
    std::swap(basic_[row], free_[column]);
  }

  static void replace(std::vector<double>& line, const std::vector<double>& out, std::size_t column) {
    const double factor = line[column];
    if (factor == 0) return;
    line[column] = 0;
    for (std::size_t c = 0; c < line.size(); ++c) line[c] -= factor * out[c];
  }

  /// Steps to better corners while there are any; false where one step has no end, or all of them together.
  bool climb() {
    for (int pivots = 0; pivots < kMostPivots; ++pivots) {
      std::size_t enters = free_.size();
      for (std::size_t c = 0; c < free_.size(); ++c) {
        if (gain_[c] > kZero && (enters == free_.size() || free_[c] < free_[enters])) enters = c;
      }
      if (enters == free_.size()) return true;
      const std::size_t leaves = first_to_leave(enters);
      if (leaves == rows_.size()) return false;
      pivot(leaves, enters);
    }
    return false;
  }

  [[nodiscard]] std::size_t first_to_leave(std::size_t enters) const {
    std::size_t leaves = rows_.size();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r][enters] <= kZero) continue;
      if (leaves == rows_.size()) {
        leaves = r;
        continue;
      }
      const double mine = limits_[r] / rows_[r][enters], least = limits_[leaves] / rows_[leaves][enters];
      if (mine < least - kZero || (mine <= least + kZero && basic_[r] < basic_[leaves])) leaves = r;
    }
    return leaves;
  }

  /// Phase one's own variable leaves the table; false where it is not 0.
  bool drop_spare() {
    const std::size_t spare = basic_.size() + free_.size() - 1;
    const auto row = std::find(basic_.begin(), basic_.end(), spare);
    if (row != basic_.end()) {
      const auto r = static_cast<std::size_t>(row - basic_.begin());
      if (limits_[r] > 1e-7) return false;
      const auto largest = std::max_element(rows_[r].begin(), rows_[r].end(),
                                            [](double a, double b) { return std::abs(a) < std::abs(b); });
      pivot(r, static_cast<std::size_t>(largest - rows_[r].begin()));
    }
    const auto column = std::find(free_.begin(), free_.end(), spare) - free_.begin();
    free_.erase(free_.begin() + column);
    gain_.erase(gain_.begin() + column);
    for (std::vector<double>& line : rows_) line.erase(line.begin() + column);
    return true;
  }

  std::vector<std::vector<double>> rows_;
  std::vector<double> limits_, gain_;
  std::vector<std::size_t> basic_, free_;  ///< which variable stands for a row, or a column
};

}  // namespace

void LinearProgramme::add(std::vector<double> row, double limit) {
  rows.push_back(std::move(row));
  limits.push_back(limit);
}

std::optional<std::vector<double>> solve(const LinearProgramme& programme) {
  Table table(programme);
  if (!table.find_any() || !table.minimise(programme.cost)) return std::nullopt;
  return table.values(programme.cost.size());
}

}  // namespace plimsoll
