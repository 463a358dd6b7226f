#include "sim/answers/best_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <tuple>

#include "sim/answers/fast_layouts.h"
#include "sim/answers/setting_look.h"
#include "sim/answers/stack_question.h"
#include "sim/planner/parallel_for.h"
#include "sim/stack/kernel_rates.h"
#include "sim/stack/setup_on.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {
namespace {

/// Layouts that are looked at at a time, and until so many are known to fit certainly; and the most of them.
constexpr std::size_t kAtATime = 8;
constexpr std::size_t kEnough = 16;
constexpr std::size_t kMost = 96;

using Looks = std::vector<std::optional<Result<SettingLook>>>;

/// Settings and what was seen of them.
struct Seen {
  std::vector<Question> settings;
  Looks looks;            ///< nothing: not looked at
  std::size_t there = 0;  ///< settings that there are
  double model_flops = 0; ///< of a step on all GPUs; 0: not known yet
};

/// A row of growing micro-batches until one does not fit. Where the last of a row accumulates nothing, which may hold less, it is looked
/// at all the same.
void look_along(const std::vector<Question>& settings, std::size_t begin, std::size_t end, Looks& looks) {
  bool full = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (full && settings[i].recipe.accumulate > 1) continue;
    looks[i] = look_at(settings[i]);
    full = full || (*looks[i] && !(*looks[i])->fits);
  }
}

/// Where the rows begin whose settings differ in their micro-batch alone.
std::vector<std::size_t> rows_of(const std::vector<Question>& settings) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (i == 0 || !(*settings[i - 1].stack == *settings[i].stack)) begins.push_back(i);
  }
  return begins;
}

Seen look_at_rows(const Question& question, const OpenSettings& open, const std::function<void(double)>& tell, unsigned threads) {
  Seen seen{.settings = program_settings(question, open), .looks = {}};
  seen.there = seen.settings.size();
  seen.looks.resize(seen.there);
  const std::vector<std::size_t> begins = rows_of(seen.settings);
  std::atomic<std::size_t> done = 0;
  const auto look = [&](std::size_t row) {
    look_along(seen.settings, begins[row], row + 1 < begins.size() ? begins[row + 1] : seen.there, seen.looks);
    if (tell) tell(static_cast<double>(++done) / static_cast<double>(begins.size()));
  };
  parallel_for(begins.size(), look, threads);
  return seen;
}

std::size_t certain_ones(const Looks& looks) {
  return static_cast<std::size_t>(
      std::count_if(looks.begin(), looks.end(), [](const auto& one) { return one && *one && (*one)->fits && (*one)->certain; }));
}

/// The fastest layout with other micro-batches, of which the coarse comparison has powers of two alone.
void look_beside_fastest(const OpenSettings& open, Seen& seen, unsigned threads) {
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < seen.looks.size(); ++i) {
    const bool fits = *seen.looks[i] && (*seen.looks[i])->fits && (*seen.looks[i])->certain;
    if (fits && (!fastest || (*seen.looks[i])->step_seconds < (*seen.looks[*fastest])->step_seconds)) fastest = i;
  }
  if (!fastest) return;
  const Question best = seen.settings[*fastest];
  const std::int64_t share = best.recipe.micro_batch * best.recipe.accumulate, begin = static_cast<std::int64_t>(seen.settings.size());
  for (const std::int64_t size : micro_batch_sizes(share, open)) {
    if (size == best.recipe.micro_batch || (best.stack->chunks > 1 && share / size % best.stack->stages != 0)) continue;
    seen.settings.push_back(best);
    seen.settings.back().recipe.micro_batch = size;
    seen.settings.back().recipe.accumulate = share / size;
  }
  seen.looks.resize(seen.settings.size());
  const auto look = [&](std::size_t i) { seen.looks[begin + i] = look_at(seen.settings[begin + i]); };
  parallel_for(seen.settings.size() - begin, look, threads);
}

Result<Seen> look_at_fastest(const Question& question, const OpenSettings& open, const std::function<void(double)>& tell, unsigned threads) {
  const auto layouts = fast_layouts(question, open, threads);
  if (!layouts) return fail(layouts.error());
  Seen seen{.settings = {}, .looks = {}, .there = layouts->tried, .model_flops = layouts->model_flops};
  const std::size_t most = std::min(kMost, layouts->fastest.size());
  while (seen.settings.size() < most && certain_ones(seen.looks) < kEnough) {
    const std::size_t begin = seen.settings.size(), end = std::min(most, begin + kAtATime);
    for (std::size_t i = begin; i < end; ++i) seen.settings.push_back(under_layout(question, layouts->fastest[i]));
    seen.looks.resize(end);
    parallel_for(end - begin, [&](std::size_t i) { seen.looks[begin + i] = look_at(seen.settings[begin + i]); }, threads);
    if (tell) tell(std::max(static_cast<double>(certain_ones(seen.looks)) / kEnough, static_cast<double>(end) / static_cast<double>(most)));
  }
  look_beside_fastest(open, seen, threads);
  return seen;
}

const SettingLook& look_in(const Seen& seen, std::size_t i) { return **seen.looks[i]; }

/// Those that fit, the fastest first.
std::vector<std::size_t> fitting_of(const Seen& seen) {
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < seen.looks.size(); ++i) {
    if (seen.looks[i] && *seen.looks[i] && look_in(seen, i).fits) fitting.push_back(i);
  }
  const auto key = [&](std::size_t i) { return std::tuple(look_in(seen, i).step_seconds, look_in(seen, i).device); };
  std::stable_sort(fitting.begin(), fitting.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return fitting;
}

/// The fastest that certainly fits, or that fits; where none does, the one that is short by least.
Result<std::size_t> choose(const Seen& seen, const std::vector<std::size_t>& fitting) {
  const auto certain = std::find_if(fitting.begin(), fitting.end(), [&](std::size_t i) { return look_in(seen, i).certain; });
  if (certain != fitting.end()) return *certain;
  if (!fitting.empty()) return fitting.front();
  std::optional<std::size_t> least;
  for (std::size_t i = 0; i < seen.looks.size(); ++i) {
    if (!seen.looks[i] || !*seen.looks[i]) continue;
    if (!least || look_in(seen, i).short_of < look_in(seen, *least).short_of) least = i;
  }
  if (least) return *least;
  for (const auto& one : seen.looks) {
    if (one && !*one) return fail(one->error());
  }
  return fail({.kind = ErrorKind::kInfeasible, .what = "no settings divide this training over these GPUs", .where = "--global-batch",
               .remedy = "take a multiple of the data ranks, and of --batch where it is said"});
}

/// Of those that fit, each that needs less than all that are faster.
std::vector<std::size_t> front_of(const Seen& seen, const std::vector<std::size_t>& fitting) {
  std::vector<std::size_t> front;
  for (const std::size_t i : fitting) {
    if (front.empty() || look_in(seen, i).device < look_in(seen, front.back()).device) front.push_back(i);
  }
  return front;
}

/// Seconds of the model's own arithmetic on all GPUs, were all of it products at the nominal rate of the units that make them.
double floor_of(const Question& question, const FitAnswer& answer, double model_flops) {
  const StackSetup setup = setup_on(*question.stack, question.machine->options);
  const auto gpus = static_cast<double>(gpus_of(setup));
  if (model_flops == 0 && setup.stages == 1) model_flops = answer.model_tflops_per_gpu * 1e12 * answer.step_seconds * gpus;
  const auto rates = kernel_rates(question.machine->gpu, setup, question.recipe.precision);
  if (!rates) return 0;
  const auto nominal = rates->nominal.find(setup.fp8.exists() ? kFp8Type : compute_dtype(question.recipe.precision));
  return nominal == rates->nominal.end() || nominal->second <= 0 ? 0 : model_flops / gpus / nominal->second;
}

/// Each reason once, in the order in which they were met.
std::vector<std::string> reasons_of(const Looks& looks) {
  std::vector<std::string> reasons;
  for (const auto& one : looks) {
    if (!one || *one || std::find(reasons.begin(), reasons.end(), one->error().what) != reasons.end()) continue;
    reasons.push_back(one->error().what);
  }
  return reasons;
}

/// Whether FSDP's shards may wait in host memory: there it updates them, in a time that is not told.
bool may_offload_shards(const Question& question, const OpenSettings& open) {
  return question.stack->stack == Stack::kPytorch && open.gpus > 1 && open.said.zero.value_or(3) == 3 && open.homes && !open.shards_on_host;
}

OpenSettings with_shards_on_host(OpenSettings open) {
  open.shards_on_host = true;
  return open;
}

}  // namespace

Result<SettingsAnswer> best_settings(const Question& question, const OpenSettings& open, const std::function<void(double)>& tell, unsigned threads) {
  const bool coarse = chooses_layouts(question);
  const auto seen = coarse ? look_at_fastest(question, open, tell, threads) : Result<Seen>(look_at_rows(question, open, tell, threads));
  if (!seen) return fail(seen.error());
  const std::vector<std::size_t> fitting = fitting_of(*seen);
  if (fitting.empty() && may_offload_shards(question, open)) {
    auto away = best_settings(question, with_shards_on_host(open), tell, threads);
    if (away && away->best.fits) return away;
  }
  const auto chosen = choose(*seen, fitting);
  if (!chosen) return fail(chosen.error());
  auto best = answer_for_stack(seen->settings[*chosen]);
  if (!best) return fail(best.error());
  const auto told = [&](std::size_t i) {
    return SettingAnswer{settings_options(seen->settings[i], open), i == *chosen ? look_of(*best) : look_in(*seen, i)};
  };
  SettingsAnswer answer{.question = seen->settings[*chosen], .best = *best, .chosen = told(*chosen), .front = {}, .refused = reasons_of(seen->looks)};
  for (const std::size_t i : front_of(*seen, fitting)) answer.front.push_back(told(i));
  answer.coarse = coarse;
  answer.settings = seen->there;
  answer.looked_at = static_cast<std::size_t>(std::count_if(seen->looks.begin(), seen->looks.end(), [](const auto& one) { return one && *one; }));
  answer.fitting = fitting.size();
  answer.floor_seconds = floor_of(answer.question, answer.best, seen->model_flops);
  return answer;
}

}  // namespace plimsoll
