#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sim/answers/change.h"

namespace plimsoll {

/// What things cost, in any money: ram and ram.fast (a GiB), ssd and ssd.fast (a TB), cpu, mainboard, or a GPU by its name.
class PriceList {
 public:
  /// Reads a table with the columns item,price; an unknown item or a price that is none is an error with its line.
  static Result<PriceList> read(std::string_view csv, std::string where);

  /// Adds or replaces one price; fails on an item that nothing is called.
  Result<void> set(const std::string& item, double price, const std::string& where);

  /// Of all purchases together; nothing when one of them has no price.
  [[nodiscard]] std::optional<double> total(const std::vector<Purchase>& purchases) const;
  [[nodiscard]] bool empty() const { return prices_.empty(); }

 private:
  std::map<std::string, double> prices_;
};

}  // namespace plimsoll
