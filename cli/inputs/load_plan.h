#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "sim/cost/calibrate.h"

namespace plimsoll {

/// Reads a plan file whose indices are in range.
Result<Plan> read_plan_file(const std::string& path);

/// Reads a plan file and proves that it obeys the law of plans.
Result<Plan> load_plan(const std::string& path);

/// A plan that was read from `path`, if it obeys that law. One that allocates while it runs is refused by name.
Result<Plan> verified(Plan plan, const std::string& path);

/// The cost samples of a run file; one without any is refused.
Result<std::vector<Sample>> load_samples(const std::string& run_file);

/// Calibrates on samples; what they do not cover comes from the catalogue.
Calibration calibrate_on_catalogue(const std::vector<Sample>& samples);

/// `known` (null: the catalogue), or costs calibrated on `measurements`, a run file or a file of samples of `platform`, when the
/// name is not empty, before those.
Result<std::shared_ptr<const CostModel>> load_costs(const std::string& measurements, std::shared_ptr<const CostModel> known,
                                                    const Platform& platform);

}  // namespace plimsoll
