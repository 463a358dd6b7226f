#include "gui/explore/choices.h"

#include <functional>

#include "core/base/quantity.h"

namespace plimsoll::gui {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

tl::unexpected<Error> bad(const QString& option, const QString& value, const char* form) {
  return fail({.kind = ErrorKind::kInput,
               .what = ("--" + option + " '" + value + "' is not " + form).toStdString(),
               .where = {},
               .remedy = {}});
}

Result<void> take_size(const QString& option, const QString& value, double unit, double& size) {
  const auto bytes = parse_bytes(value.toStdString());
  if (!bytes) return fail(bytes.error());
  if (bytes->count <= 0) return bad(option, value, "a size");
  size = static_cast<double>(bytes->count) / unit;
  return {};
}

template <typename Number>
Result<void> take_whole(const QString& option, const QString& value, Number& number) {
  bool whole = false;
  const qlonglong read = value.toLongLong(&whole);
  if (!whole || read <= 0 || read > 1'000'000'000) return bad(option, value, "a positive whole number");
  number = static_cast<Number>(read);
  return {};
}

Result<void> take(Choices& choices, const QString& option, const QString& value) {
  if (option == "model") return choices.model = value, Result<void>{};
  if (option == "on") return choices.gpu = value, Result<void>{};
  if (option == "pcie") return choices.pcie = value, Result<void>{};
  if (option == "precision") return choices.precision = value, Result<void>{};
  if (option == "optimizer") return choices.optimizer = value, Result<void>{};
  if (option == "strategy") return choices.strategy = value, Result<void>{};
  if (option == "ram") return take_size(option, value, kGib, choices.ram_gib);
  if (option == "ssd") return take_size(option, value, 1e9, choices.ssd_gb);
  if (option == "gpus") return take_whole(option, value, choices.gpus);
  if (option == "batch") return take_whole(option, value, choices.batch);
  if (option == "accumulate") return take_whole(option, value, choices.accumulate);
  if (option == "seq") return take_whole(option, value, choices.sequence);
  if (option == "lora") return take_whole(option, value, choices.lora_rank);
  const auto tokens = parse_count(value);
  if (option != "tokens" || !tokens) return bad(option, value, "a count such as 300B");
  choices.tokens = *tokens;
  return {};
}

}  // namespace

Result<Choices> with_options(Choices choices, const QHash<QString, QString>& options) {
  for (auto option = options.begin(); option != options.end(); ++option) {
    if (const auto taken = take(choices, option.key(), option.value()); !taken) return fail(taken.error());
  }
  return choices;
}

std::optional<double> parse_count(QString text) {
  text = text.trimmed().remove(',').remove(' ');
  double factor = 1;
  if (!text.isEmpty()) {
    const QChar last = text.back().toUpper();
    factor = last == 'K' ? 1e3 : last == 'M' ? 1e6 : last == 'B' || last == 'G' ? 1e9 : last == 'T' ? 1e12 : 1;
    if (factor > 1) text.chop(1);
  }
  bool read = false;
  const double value = text.toDouble(&read);
  if (!read || !(value >= 0) || value * factor > 1e18) return std::nullopt;
  return value * factor;
}

}  // namespace plimsoll::gui
