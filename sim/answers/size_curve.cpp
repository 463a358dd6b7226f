#include "sim/answers/size_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/nearest_names.h"
#include "core/model/parameters.h"
#include "formats/models/model_zoo.h"
#include "sim/answers/average_step.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

/// Whether `name` is the family's smallest ("gpt2") or one of its sizes ("gpt2-xl", "llama2-7b").
bool is_of_family(const std::string& name, const std::string& family) {
  return name == family || name.rfind(family + "-", 0) == 0;
}

/// What is begun last is short then, and no thread waits long for another one's end.
std::vector<std::size_t> largest_first(const std::vector<CurveModel>& models) {
  std::vector<std::size_t> order(models.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t i) { return parameter_count(models[i].question.spec); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  return order;
}

Result<FitAnswer> answer_for(const CurveModel& model, const BillTerms& terms) {
  auto answer = answer_question(model.question, {.threads = 1, .alternatives = false});
  if (!answer) return answer;
  auto bill = bill_average(model.question, *answer, model.length, terms);
  if (!bill) return fail(bill.error());
  answer->training = std::move(*bill);
  return answer;
}

}  // namespace

Result<std::vector<std::string>> published_ladder(const std::string& family) {
  std::vector<std::pair<std::int64_t, std::string>> ladder;
  std::vector<std::string> names;
  for (const ZooModel& model : built_in_zoo()) {
    names.push_back(model.name.substr(0, model.name.find('-')));
    if (is_of_family(model.name, family)) ladder.emplace_back(model.parameters, model.name);
  }
  if (ladder.empty()) {
    return fail({.kind = ErrorKind::kUnknownName, .what = fmt::format("no family '{}'", family), .where = "--family",
                 .remedy = did_you_mean(family, names)});
  }
  std::sort(ladder.begin(), ladder.end());  // of one size the shorter name comes first
  const auto same_size = [](const auto& a, const auto& b) { return a.first == b.first; };
  ladder.erase(std::unique(ladder.begin(), ladder.end(), same_size), ladder.end());
  std::vector<std::string> sorted;
  for (auto& [parameters, name] : ladder) sorted.push_back(std::move(name));
  return sorted;
}

Result<std::vector<CurveModelAnswer>> size_curve(const std::vector<CurveModel>& models, const BillTerms& terms,
                                                 unsigned threads) {
  std::vector<std::optional<Result<FitAnswer>>> answers(models.size());
  const std::vector<std::size_t> order = largest_first(models);
  const auto answer_one = [&](std::size_t at) { answers[order[at]] = answer_for(models[order[at]], terms); };
  parallel_for(models.size(), answer_one, threads);
  std::vector<CurveModelAnswer> curve;
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (!*answers[i]) return fail(answers[i]->error());
    curve.push_back({models[i].name, std::move(**answers[i])});
  }
  std::stable_sort(curve.begin(), curve.end(),
                   [](const auto& a, const auto& b) { return a.answer.parameters < b.answer.parameters; });
  return curve;
}

}  // namespace plimsoll
