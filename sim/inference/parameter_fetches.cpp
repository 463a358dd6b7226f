#include "sim/inference/parameter_fetches.h"

#include <algorithm>
#include <deque>
#include <set>

namespace plimsoll {
namespace {

constexpr std::int64_t kDefaultReach = 1'000'000'000;
constexpr std::size_t kNoGather = static_cast<std::size_t>(-1);

class Coordinator {
 public:
  Coordinator(const HookedModules& modules, const FetchRules& rules)
      : modules_(modules),
        rules_(rules),
        in_(modules.elements.size(), kNoGather),
        fetched_for_(modules.elements.size(), -1) {
    for (std::size_t step = 0; step < modules.order.size(); ++step) {
      for (const std::size_t parameter : modules.order[step].parameters) queue_.emplace_back(parameter, step);
    }
  }

  ParameterFetches follow() {
    for (step_ = 0; step_ < modules_.order.size(); ++step_) {
      const std::vector<std::size_t>& own = modules_.order[step_].parameters;
      HookCall& call = fetches_.calls.emplace_back();
      std::vector<std::size_t> missing;
      std::copy_if(own.begin(), own.end(), std::back_inserter(missing),
                   [&](std::size_t p) { return in_[p] == kNoGather; });
      start(missing, call.own);
      await(own, call);
      skip(own);
      start(next_bucket(), call.ahead);
      release(own);
    }
    return std::move(fetches_);
  }

 private:
  void start(const std::vector<std::size_t>& parameters, std::vector<std::size_t>& started) {
    if (parameters.empty()) return;
    Gather gather{.parameters = parameters};
    for (const std::size_t parameter : parameters) {
      gather.elements += modules_.elements[parameter];
      in_[parameter] = fetches_.gathers.size();
    }
    live_ += gather.elements;
    started.push_back(fetches_.gathers.size());
    fetches_.gathers.push_back(std::move(gather));
  }

  void await(const std::vector<std::size_t>& own, HookCall& call) {
    for (const std::size_t parameter : own) {
      if (waited_for_.insert(in_[parameter]).second) call.awaited.push_back(in_[parameter]);
    }
  }

  /// What the module needs itself leaves the queue; what was fetched ahead has left it already.
  void skip(const std::vector<std::size_t>& own) {
    for (const std::size_t parameter : own) {
      if (fetched_for_[parameter] >= static_cast<std::int64_t>(step_) || queue_.empty()) continue;
      fetched_for_[queue_.front().first] = static_cast<std::int64_t>(queue_.front().second);
      queue_.pop_front();
    }
  }

  std::vector<std::size_t> next_bucket() {
    const std::int64_t most = std::min(rules_.live - live_, rules_.bucket);
    std::vector<std::size_t> bucket;
    std::int64_t elements = 0;
    while (!queue_.empty() && elements < most) {
      const auto [parameter, step] = queue_.front();
      queue_.pop_front();
      fetched_for_[parameter] = std::max(fetched_for_[parameter], static_cast<std::int64_t>(step));
      if (in_[parameter] != kNoGather || std::find(bucket.begin(), bucket.end(), parameter) != bucket.end()) continue;
      bucket.push_back(parameter);
      elements += modules_.elements[parameter];
    }
    return bucket;
  }

  void release(const std::vector<std::size_t>& own) {
    for (const std::size_t parameter : own) {
      if (fetched_for_[parameter] > static_cast<std::int64_t>(step_) || is_needed_soon(parameter)) continue;
      in_[parameter] = kNoGather;
      live_ -= modules_.elements[parameter];
    }
  }

  [[nodiscard]] bool is_needed_soon(std::size_t parameter) const {
    std::int64_t passed = 0;
    for (std::size_t step = step_ + 1; step < modules_.order.size() && passed < rules_.reuse; ++step) {
      for (const std::size_t other : modules_.order[step].parameters) {
        if (other == parameter) return true;
        passed += modules_.elements[other];
      }
    }
    return false;
  }

  const HookedModules& modules_;
  const FetchRules& rules_;
  ParameterFetches fetches_;
  std::deque<std::pair<std::size_t, std::size_t>> queue_;  ///< parameter, and the module that needs it
  std::vector<std::size_t> in_;                            ///< the gather that holds a parameter
  std::vector<std::int64_t> fetched_for_;                  ///< the latest module for which it has left the queue
  std::set<std::size_t> waited_for_;
  std::int64_t live_ = 0;
  std::size_t step_ = 0;
};

}  // namespace

FetchRules fetch_rules(ServingProgram program, const ModelSpec& spec) {
  const std::int64_t square = spec.hidden * spec.hidden;
  if (program == ServingProgram::kGatheringZero)
    return {.bucket = square, .live = kDefaultReach, .reuse = kDefaultReach};
  return {.bucket = 2 * square, .live = 2 * square, .reuse = kDefaultReach};
}

ParameterFetches follow_fetches(const HookedModules& modules, const FetchRules& rules) {
  return Coordinator(modules, rules).follow();
}

}  // namespace plimsoll
