#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "formats/machines/catalogue_platform.h"
#include "sim/cost/calibrate.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/cost_edge.h"
#include "sim/cost/regression_cost_model.h"
#include "sim/cost/table_cost_model.h"

using namespace plimsoll;

namespace {

Platform machine() {
  return gpu_platform(*find_gpu(built_in_gpu_catalogue(), "RTX 3090"), {.ssd = 1024 * kGiB})->platform;
}

const CatalogueCostModel kCatalogue;

Kernel kernel_of(OpKind kind, std::int64_t scale) {
  return {
      .kind = kind,
      .dtype = DType::kFp32,
      .shape = {
          .rows = 32 * scale, .inputs = 64, .outputs = 96, .sequence = 32, .heads = 2, .kv_heads = 2, .head_dim = 32,
          .experts = 4, .choices = 2, .groups = 1}};
}

std::vector<OpKind> all_kinds() {
  std::vector<OpKind> kinds;
  for (int kind = 0; kind <= static_cast<int>(OpKind::kShareRouting); ++kind) kinds.push_back(static_cast<OpKind>(kind));
  return kinds;
}

/// Samples of a machine that behaves like the catalogue, at every second size of the contract's.
std::vector<Sample> samples_of(const Platform& platform) {
  std::vector<Sample> samples;
  const auto take = [&](const CostKey& key, const Result<Cost>& cost) {
    for (int run = 0; run < 4; ++run) samples.push_back({.key = key, .duration = cost->median, .plan_digest = "p"});
  };
  for (const std::int64_t scale : {1, 4, 16, 64}) {
    for (const auto kind : all_kinds()) {
      const auto kernel = kernel_of(kind, scale);
      take(kernel_key(platform.processors[0], kernel), kCatalogue.kernel(platform.processors[0], kernel));
    }
    const Bytes bytes = kMiB * scale;
    for (const auto& link : platform.links)
      take(transfer_key(platform, link, bytes), kCatalogue.transfer(platform, link, bytes));
    const auto& cpu = platform.processors[1];
    take(host_work_key(cpu, HostTask::kLoadTokens, bytes), kCatalogue.host_work(cpu, HostTask::kLoadTokens, bytes));
  }
  return samples;
}

struct Subject {
  std::string name;
  std::shared_ptr<const CostModel> model;
  bool every_size = true;  ///< false: only sizes that were sampled
};

std::vector<Subject> subjects(const Platform& platform) {
  static const CostEdge low(kCatalogue, CostEdge::kLow);
  static const CostEdge high(kCatalogue, CostEdge::kHigh);
  const auto keep = [](const CostModel& model) {
    return std::shared_ptr<const CostModel>(&model, [](const CostModel*) {});
  };
  const auto statistics = summarize_samples(samples_of(platform));
  return {{"catalogue", keep(kCatalogue)},
          {"optimist", keep(low)},
          {"pessimist", keep(high)},
          {"table", std::make_shared<TableCostModel>(statistics), false},
          {"regression", std::make_shared<RegressionCostModel>(statistics)},
          {"calibrated", calibrate(samples_of(platform), keep(kCatalogue)).model}};
}

/// Costs at growing sizes, each the same when asked twice.
std::vector<Cost> asked_twice(const Subject& subject,
                              const std::function<Result<Cost>(const CostModel&, std::int64_t)>& ask) {
  std::vector<Cost> costs;
  for (const std::int64_t scale : {1, 2, 4, 8, 16, 32, 64}) {
    const bool sampled = scale == 1 || scale == 4 || scale == 16 || scale == 64;
    if (!subject.every_size && !sampled) continue;
    const auto first = ask(*subject.model, scale);
    const auto second = ask(*subject.model, scale);
    REQUIRE(first);
    REQUIRE(second);
    CHECK((first->median == second->median && first->low == second->low && first->high == second->high));
    costs.push_back(*first);
  }
  return costs;
}

void check_positive_ordered_and_monotone(const std::vector<Cost>& costs) {
  // A fit may be a percent off its own samples; beyond that a larger kernel is never cheaper.
  for (std::size_t i = 0; i < costs.size(); ++i) {
    CHECK(costs[i].median > Nanoseconds(0));
    if (i > 0)
      CHECK(static_cast<double>(costs[i].median.count) >= 0.95 * static_cast<double>(costs[i - 1].median.count));
  }
}

}  // namespace

TEST_CASE("every cost model: kernels cost a positive time that grows with size, and asking changes nothing") {
  const auto platform = machine();
  for (const auto& subject : subjects(platform)) {
    for (const auto kind : all_kinds()) {
      INFO(subject.name << " " << to_text(kind));
      check_positive_ordered_and_monotone(asked_twice(subject, [&](const CostModel& model, std::int64_t scale) {
        return model.kernel(platform.processors[0], kernel_of(kind, scale));
      }));
    }
  }
}

TEST_CASE("every cost model: transfers and host work cost a positive time that grows with bytes") {
  const auto platform = machine();
  for (const auto& subject : subjects(platform)) {
    INFO(subject.name);
    for (const auto& link : platform.links) {
      check_positive_ordered_and_monotone(asked_twice(subject, [&](const CostModel& model, std::int64_t scale) {
        return model.transfer(platform, link, kMiB * scale);
      }));
    }
    check_positive_ordered_and_monotone(asked_twice(subject, [&](const CostModel& model, std::int64_t scale) {
      return model.host_work(platform.processors[1], HostTask::kLoadTokens, kMiB * scale);
    }));
  }
}

TEST_CASE("every cost model: the interval holds the median") {
  const auto platform = machine();
  for (const auto& subject : subjects(platform)) {
    for (const auto kind : all_kinds()) {
      INFO(subject.name << " " << to_text(kind));
      for (const auto& cost : asked_twice(subject, [&](const CostModel&model, std::int64_t scale) {
             return model.kernel(platform.processors[0], kernel_of(kind, scale));
           })) {
        CHECK((cost.low <= cost.median && cost.median <= cost.high));
      }
    }
  }
}

TEST_CASE("every cost model: what nothing is known about is refused by name, never zero") {
  const auto platform = machine();
  const Kernel fp64{.kind = OpKind::kLinear, .dtype = DType::kFp64, .shape = {.rows = 8, .inputs = 8, .outputs = 8}};
  for (const auto& subject : subjects(platform)) {
    INFO(subject.name);
    const auto kernel = subject.model->kernel(platform.processors[0], fp64);
    REQUIRE_FALSE(kernel);
    CHECK(kernel.error().kind == ErrorKind::kUncalibrated);
    CHECK(kernel.error().what.find("linear fp64 rows=8") != std::string::npos);
    const auto task = subject.model->host_work(platform.processors[1], HostTask::kNone, kMiB);
    REQUIRE_FALSE(task);
    CHECK(task.error().kind == ErrorKind::kUncalibrated);
    Link nowhere{.name = "nowhere", .from = SpaceId(0), .to = SpaceId(1)};
    const auto transfer = subject.model->transfer(platform, nowhere, kMiB);
    REQUIRE_FALSE(transfer);
    CHECK(transfer.error().what.find("nowhere") != std::string::npos);
  }
}

TEST_CASE("every cost model: issuing takes no negative time and the source has words") {
  const auto platform = machine();
  for (const auto& subject : subjects(platform)) {
    INFO(subject.name);
    CHECK_FALSE(subject.model->source().empty());
    for (const auto kind : {QueueKind::kCompute, QueueKind::kCopy, QueueKind::kStorage, QueueKind::kHostCompute,
                            QueueKind::kHostWork, QueueKind::kCommunication}) {
      CHECK(subject.model->issue_overhead(platform, kind) >= Nanoseconds(0));
    }
  }
}
