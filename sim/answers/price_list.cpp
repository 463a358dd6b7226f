#include "sim/answers/price_list.h"

#include <fmt/format.h>

#include <array>
#include <algorithm>

#include "core/base/nearest_names.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 6> kItems{"ram", "ram.fast", "ssd", "ssd.fast", "cpu", "mainboard"};

Result<std::string> item_of(const std::string& text, const std::string& where) {
  if (std::find(kItems.begin(), kItems.end(), text) != kItems.end()) return text;
  const auto gpu = find_gpu(built_in_gpu_catalogue(), text);
  if (gpu) return gpu->name;
  Error error = gpu.error();
  error.where = where;
  error.remedy += "; or price ram, ram.fast (a GiB), ssd, ssd.fast (a TB), cpu, mainboard";
  return fail(std::move(error));
}

}  // namespace

Result<PriceList> PriceList::read(std::string_view csv, std::string where) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return fail(table.error());
  PriceList list;
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    const std::string item = fields.text("item");
    const double price = fields.number("price");
    if (fields.error()) return fail(*fields.error());
    if (const auto set = list.set(item, price, table->place(row)); !set) return fail(set.error());
  }
  return list;
}

Result<void> PriceList::set(const std::string& item, double price, const std::string& where) {
  if (!(price >= 0))
    return fail(
        {.kind = ErrorKind::kInput, .what = fmt::format("{} is no price", price), .where = where, .remedy = {}});
  const auto name = item_of(item, where);
  if (!name) return fail(name.error());
  prices_[*name] = price;
  return {};
}

std::optional<double> PriceList::total(const std::vector<Purchase>& purchases) const {
  double sum = 0;
  for (const Purchase& purchase : purchases) {
    const auto known = prices_.find(purchase.item);
    if (known == prices_.end()) return std::nullopt;
    sum += purchase.amount * known->second;
  }
  return sum;
}

}  // namespace plimsoll
