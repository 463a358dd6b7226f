#include "sim/answers/training_length.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/nearest_names.h"
#include "core/model/parameters.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::string_view kChinchilla = "chinchilla";
constexpr double kLargestShortId = 65536;  // of token files with two bytes a token

/// An amount, and the data set that it is the size of, if any.
struct Amount {
  double count = 0;
  const DataSet* set = nullptr;
  std::string note;
};

Error unreadable(std::string_view option, const std::string& text, DataUnit unit) {
  std::vector<std::string> names;
  if (unit == DataUnit::kTokens) names.emplace_back(kChinchilla);
  for (const DataSet& set : known_data_sets()) {
    if (set.unit == unit) names.push_back(set.name);
  }
  return {.kind = ErrorKind::kUnknownName, .what = fmt::format("'{}' is neither a number nor a data set", text),
          .where = std::string(option), .remedy = did_you_mean(text, names) + " Numbers are written 300B, 1.5T or 2e9"};
}

Result<Amount> chinchilla_tokens(const std::string& text, const ModelSpec& spec) {
  const ConstantTable& constants = training_constants();
  double ratio = constants.at(kChinchilla);
  if (text.size() > kChinchilla.size()) {
    const auto given = parse_number(std::string_view(text).substr(kChinchilla.size() + 1));
    if (!given || *given <= 0) return fail(unreadable("--tokens", text, DataUnit::kTokens));
    ratio = *given;
  }
  const double parameters = static_cast<double>(parameter_count(spec));
  return Amount{ratio * parameters, nullptr,
                fmt::format("{:g} tokens a parameter ({})", ratio, constants.entry(kChinchilla).origin)};
}

Result<Amount> amount_of(std::string_view option, const std::string& text, DataUnit unit) {
  if (const auto count = parse_count(text)) return Amount{*count, nullptr, {}};
  const DataSet* set = find_data_set(text);
  if (set == nullptr) return fail(unreadable(option, text, unit));
  if (set->unit != unit) {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("{} is counted in {}", set->name, to_text(set->unit)),
                 .where = std::string(option), .remedy = fmt::format("write --{} {}", to_text(set->unit), set->name)});
  }
  return Amount{set->count, set, fmt::format("{}: {:.4g} {} ({})", set->name, set->count, to_text(unit), set->origin)};
}

Result<Amount> read_amount(const LengthRequest& request, const ModelSpec& spec) {
  if (!request.tokens.empty() && !request.samples.empty()) {
    return fail({.kind = ErrorKind::kInput, .what = "--tokens and --samples both say how long the training is", .where = {},
                 .remedy = "give one of them"});
  }
  if (!request.samples.empty()) return amount_of("--samples", request.samples, DataUnit::kSamples);
  if (request.tokens.empty()) {
    return fail({.kind = ErrorKind::kInput, .what = "epochs of what?", .where = "--epochs",
                 .remedy = "add the data set: --tokens c4, --samples imagenet, or a number of either"});
  }
  if (reads_pictures(spec)) {
    return fail({.kind = ErrorKind::kInput, .what = "this model reads images, not tokens", .where = "--tokens",
                 .remedy = "say how many with --samples"});
  }
  if (request.tokens.rfind(kChinchilla, 0) == 0) return chinchilla_tokens(request.tokens, spec);
  return amount_of("--tokens", request.tokens, DataUnit::kTokens);
}

double image_bytes(const Amount& amount) {
  if (amount.set != nullptr && amount.set->bytes) return *amount.set->bytes / amount.set->count;
  return training_constants().at("image.bytes");
}

void set_bytes(TrainingLength& length, const Amount& amount, const ModelSpec& spec, double tokens) {
  if (reads_pictures(spec)) {
    length.content = DataContent::kImage;
    length.stored_bytes = image_bytes(amount);
    length.prepared_bytes = static_cast<double>(spec.image.size > 0 ? spec.image.pixels() : 3 * 224 * 224);
    return;
  }
  length.prepared_bytes = tokens * (static_cast<double>(spec.vocabulary) <= kLargestShortId ? 2 : 4);
  length.stored_bytes = tokens * training_constants().at("text.bytes_per_token");
}

}  // namespace

bool reads_pictures(const ModelSpec& spec) { return spec.reads_images() || spec.is_conv_net(); }

std::optional<double> parse_count(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ',' && c != '_') digits += c;
  }
  if (digits.empty()) return std::nullopt;
  double unit = 1;
  switch (digits.back()) {
    case 'K': case 'k': unit = 1e3; break;
    case 'M': case 'm': unit = 1e6; break;
    case 'B': case 'b': case 'G': unit = 1e9; break;
    case 'T': case 't': unit = 1e12; break;
    default: break;
  }
  if (unit > 1) digits.pop_back();
  const auto value = parse_number(digits);
  if (!value || *value <= 0 || *value * unit > 1e18) return std::nullopt;
  return *value * unit;
}

Result<TrainingLength> training_length(const LengthRequest& request, const ModelSpec& spec, SampleTokens sample) {
  const auto amount = read_amount(request, spec);
  if (!amount) return fail(amount.error());
  if (request.epochs && !(*request.epochs > 0 && *request.epochs < 1e9)) {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("{} epochs", *request.epochs), .where = "--epochs",
                 .remedy = "take a number above 0"});
  }
  TrainingLength length;
  const double once = request.samples.empty() ? amount->count / sample.each : amount->count;
  const double epochs = request.epochs.value_or(1);
  length.set_samples = once;
  length.samples = once * epochs;
  length.tokens = length.samples * sample.each;
  if (request.epochs || amount->set != nullptr) length.epochs = epochs;
  set_bytes(length, *amount, spec, sample.each);
  if (!amount->note.empty()) length.notes.push_back(amount->note);
  if (!request.samples.empty() && sample.each > 0 && !sample.stated)
    length.notes.push_back(fmt::format("every sample is taken to have {:.0f} tokens; shorter ones, padded to each other or packed, take less (--lengths)", sample.each));
  return length;
}

}  // namespace plimsoll
