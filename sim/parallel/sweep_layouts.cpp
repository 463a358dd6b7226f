#include "sim/parallel/sweep_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/nearest_names.h"
#include "sim/parallel/piece_table.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostLayouts = 1'000'000;
constexpr std::int64_t kMostValues = 100'000;

const std::vector<std::string> kKeys{"dp",           "tp",       "pp",        "cp",
                                     "ep",           "zero",     "chunks",    "micro-batch",
                                     "global-batch", "schedule", "recompute", "sequence-parallel"};

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--vary", .remedy = std::move(remedy)});
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t>* degree(LayoutRequest& request, std::string_view key) {
  if (key == "dp") return &request.data_ranks;
  if (key == "tp") return &request.tensor_ranks;
  if (key == "pp") return &request.stages;
  if (key == "cp") return &request.context_ranks;
  if (key == "ep") return &request.expert_ranks;
  if (key == "chunks") return &request.chunks;
  if (key == "micro-batch") return &request.micro_batch;
  if (key == "global-batch") return &request.global_batch;
  return nullptr;
}

/// Writes one value into the request; false where the key does not take it.
bool set(LayoutRequest& request, std::string_view key, const std::string& value) {
  const auto number = whole(value);
  if (auto* field = degree(request, key)) {
    *field = number;
    return number && *number >= 1;
  }
  if (key == "zero") {
    if (number) request.zero = static_cast<int>(*number);
    return number && *number >= 0 && *number <= 3;
  }
  if (key == "sequence-parallel") {
    request.sequence_parallel = value == "true";
    return value == "true" || value == "false";
  }
  if (key == "recompute") {
    for (const Recomputation rule : {Recomputation::kNone, Recomputation::kSelective, Recomputation::kFull}) {
      if (to_text(rule) == value) request.recomputation = rule;
    }
    return request.recomputation && to_text(*request.recomputation) == value;
  }
  request.schedule = value;
  return true;
}

/// "1..16" as all numbers, "1,2,4" as they stand.
Result<std::vector<std::string>> values_of(std::string_view text) {
  std::vector<std::string> values;
  if (const auto dots = text.find(".."); dots != std::string_view::npos) {
    const auto first = whole(text.substr(0, dots)), last = whole(text.substr(dots + 2));
    if (!first || !last || *first > *last || *last - *first >= kMostValues)
      return refuse(fmt::format("'{}' is no range", text), "for example 1..16");
    for (std::int64_t value = *first; value <= *last; ++value) values.push_back(std::to_string(value));
    return values;
  }
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    values.emplace_back(one);
    text.remove_prefix(std::min(one.size() + 1, text.size()));
  }
  return values;
}

/// The request of combination `index`.
LayoutRequest combination(LayoutRequest request, const std::vector<LayoutVariation>& variations, std::size_t index) {
  for (std::size_t i = variations.size(); i-- > 0;) {
    const LayoutVariation& variation = variations[i];
    set(request, variation.key, variation.values[index % variation.values.size()]);
    index /= variation.values.size();
  }
  return request;
}

/// The layouts of a share that can be, in its order; the others get their refusal.
std::vector<ParallelLayout> sound_layouts(const ParallelQuestion& question, std::vector<SweptLayout>& swept) {
  std::vector<ParallelLayout> sound;
  for (SweptLayout& one : swept) {
    const auto checked = check_layout(question.spec, question.recipe, one.layout, question.cluster.gpus);
    if (!checked) one.refusal = checked.error().text();
    else sound.push_back(one.layout);
  }
  return sound;
}

void time_one(ParallelQuestion question, const PieceTable& pieces, SweptLayout& swept) {
  if (!swept.refusal.empty()) return;
  const auto& own = pieces.at(piece_key(swept.layout));
  question.layout = swept.layout;
  auto answer = own ? predict_with(question, *own) : Result<ParallelAnswer>(fail(own.error()));
  if (answer) swept.answer = std::move(*answer);
  else swept.refusal = answer.error().text();
}

}  // namespace

Result<LayoutVariation> parse_variation(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos)
    return refuse(fmt::format("'{}' is not of the form KEY=VALUES", text), "for example pp=1,2,4");
  LayoutVariation variation{.key = std::string(text.substr(0, equals)), .values = {}};
  if (std::find(kKeys.begin(), kKeys.end(), variation.key) == kKeys.end()) {
    return refuse(fmt::format("a layout has no '{}'", variation.key), did_you_mean(variation.key, kKeys));
  }
  auto values = values_of(text.substr(equals + 1));
  if (!values) return fail(values.error());
  if (values->empty()) return refuse(fmt::format("'{}' has no values", text), "for example pp=1,2,4");
  for (const std::string& value : *values) {
    LayoutRequest tried;
    if (!set(tried, variation.key, value))
      return refuse(fmt::format("{} does not take '{}'", variation.key, value), "plimsoll sweep --help shows the keys");
  }
  variation.values = std::move(*values);
  return variation;
}

Result<std::vector<SweptLayout>> sweep_layouts(const ParallelQuestion& question, const LayoutRequest& base,
                                               const std::vector<LayoutVariation>& variations, const SweepShare& share) {
  std::size_t count = 1;
  for (const LayoutVariation& variation : variations) {
    count *= variation.values.size();
    if (count > kMostLayouts) return refuse(fmt::format("more than {} layouts", kMostLayouts), "vary less at once");
  }
  std::vector<SweptLayout> swept(count > share.part ? (count - share.part - 1) / share.parts + 1 : 0);
  for (std::size_t i = 0; i < swept.size(); ++i) {
    swept[i].layout = layout_as_said(combination(base, variations, share.part + i * share.parts), question.cluster.gpus);
  }
  const PieceTable pieces = make_piece_table(question, sound_layouts(question, swept), share.threads);
  parallel_for(
      swept.size(), [&](std::size_t i) { time_one(question, pieces, swept[i]); }, share.threads);
  return swept;
}

}  // namespace plimsoll
