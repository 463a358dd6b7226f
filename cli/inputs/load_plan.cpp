#include "cli/inputs/load_plan.h"

#include <fmt/format.h>

#include <fstream>

#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/run_file.h"
#include "formats/text/read_text_file.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/remembered_costs.h"
#include "sim/cost/sample_file.h"
#include "sim/stack/lowering/allocation_events.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestPlanFile{std::int64_t{1} << 30};

}  // namespace

Result<Plan> read_plan_file(const std::string& path) {
  const auto text = read_text_file(path, kLargestPlanFile);
  if (!text) return fail(text.error());
  return read_plan(*text, path);
}

Result<Plan> verified(Plan plan, const std::string& path) {
  if (allocates_while_running(plan)) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("the plan is of {}, which allocates while it runs: it is simulated and compared, not executed",
                                     plan.strategy.name),
                 .where = path,
                 .remedy = "plan it without --stack to run it here"});
  }
  if (const auto law = verify_plan(plan); !law) return fail(law.error());
  return plan;
}

Result<Plan> load_plan(const std::string& path) {
  auto plan = read_plan_file(path);
  if (!plan) return plan;
  return verified(std::move(*plan), path);
}

Result<std::vector<Sample>> load_samples(const std::string& run_file) {
  const auto run = read_run_file(run_file);
  if (!run) return fail(run.error());
  std::vector<Sample> samples;
  for (const CostSample& sample : run->cost_samples) {
    auto key = parse_cost_key(sample.key);
    if (!key) return fail(key.error());
    samples.push_back({.key = std::move(*key), .duration = sample.duration, .plan_digest = sample.plan_digest});
  }
  if (samples.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the run file holds no cost samples",
                 .where = run_file,
                 .remedy = "run with a warm-up: plimsoll run MODEL --data FILE"});
  }
  return samples;
}

Calibration calibrate_on_catalogue(const std::vector<Sample>& samples) {
  return calibrate(samples, std::make_shared<CatalogueCostModel>());
}

namespace {

/// Every SQLite file begins so.
constexpr std::string_view kRunFileMark = "SQLite format 3";
constexpr Bytes kLargestSampleFile{std::int64_t{1} << 28};

bool is_run_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kRunFileMark.size(), ' ');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return file.gcount() == 0 || head == kRunFileMark;  // what cannot be read, or is empty, is refused by the run file's reader
}

Result<std::vector<Sample>> load_measurements(const std::string& path, const Platform& platform) {
  if (is_run_file(path)) return load_samples(path);
  const auto text = read_text_file(path, kLargestSampleFile);
  if (!text) return fail(text.error());
  return read_sample_file(*text, path, platform);
}

}  // namespace

Result<std::shared_ptr<const CostModel>> load_costs(const std::string& measurements, std::shared_ptr<const CostModel> known,
                                                    const Platform& platform) {
  if (!known) known = std::make_shared<RememberedCosts>(std::make_shared<CatalogueCostModel>());
  if (measurements.empty()) return known;
  const auto samples = load_measurements(measurements, platform);
  if (!samples) return fail(samples.error());
  return calibrate(*samples, std::move(known)).model;
}

}  // namespace plimsoll
