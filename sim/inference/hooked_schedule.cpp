#include "sim/inference/hooked_schedule.h"

#include <cmath>

#include "core/inference/kv_cache.h"
#include "sim/cost/efficiencies.h"
#include "sim/inference/parameter_fetches.h"
#include "sim/inference/pass_body.h"
#include "sim/inference/pass_kernels.h"
#include "sim/inference/share_of.h"

namespace plimsoll {
namespace {

using Space = SpaceKind;
using Ids = std::vector<std::uint32_t>;

constexpr const char* kStream = "gather";  ///< kernels on the stream of the copies, beside those of the modules

class HookedScheduleWriter {
 public:
  HookedScheduleWriter(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                       std::int64_t cached)
      : task_(task),
        policy_(policy),
        gathers_(policy.program == ServingProgram::kGatheringZero),
        modules_(hooked_modules(task.spec)),
        fetches_(follow_fetches(modules_, fetch_rules(policy.program, task.spec))),
        kernels_(task, policy, cached),
        body_(platform, true),
        decodes_(cached > 0) {
    body_.add_stream(kStream);
  }

  Plan write() {
    for (std::size_t begin = 0; begin < modules_.order.size();) {
      std::size_t end = begin + 1;
      const std::int64_t block = modules_.order[begin].block;
      while (block >= 0 && end < modules_.order.size() && modules_.order[end].block == block) ++end;
      for (std::size_t module = begin; module < end; ++module) enter(module, begin, end);
      if (block >= 0) store_cache(block);
      begin = end;
    }
    return body_.finish();
  }

 private:
  void enter(std::size_t module, std::size_t begin, std::size_t end) {
    const HookCall& call = fetches_.calls[module];
    const double each = cost(gathers_ ? "zero.hook.parameter.gathered" : "zero.hook.parameter");
    work(cost("zero.hook.module") + static_cast<double>(modules_.order[module].parameters.size()) * each);
    for (const std::size_t gather : call.own) fetch(fetches_.gathers[gather]);
    for (const std::size_t gather : call.awaited) wait_for(fetches_.gathers[gather]);
    const Ids there = stream_;
    for (const std::size_t gather : call.ahead) fetch(fetches_.gathers[gather]);
    launch_share(module, begin, end, there);
  }

  /// What is awaited is counted where it is fetched: calls that start a copy, and those that join and part what was
  /// gathered.
  void fetch(const Gather& gather) {
    const auto parameters = static_cast<double>(gather.parameters.size());
    const double calls = gathers_ ? 2 * parameters + 1 : parameters;
    work(cost("zero.hook.gather") + calls * cost("stack.dispatch.eager"));
    const Bytes bytes(gather.elements * size_of(task_.type()));
    if (!policy_.pinned_weights) {
      stream_ = host_ = {body_.stage(bytes, after(host_, stream_))};
    } else {
      stream_ = {body_.copy(Space::kHost, Space::kDevice, bytes, after(host_, stream_))};
      if (gathers_) host_ = after(host_, stream_);
    }
    if (gathers_) copy_on_device(bytes);
  }

  void wait_for(const Gather& gather) {
    if (gathers_ && gather.parameters.size() > 1) copy_on_device(Bytes(gather.elements * size_of(task_.type())));
    if (!gathers_) host_ = after(host_, stream_);
  }

  /// Reads and writes each byte: as a sum of three operands.
  void copy_on_device(Bytes bytes) {
    const DType type = task_.type();
    const Kernel kernel{OpKind::kAdd, type, {.rows = 1, .inputs = 2 * bytes.count / (3 * size_of(type))}};
    stream_ = {body_.launch(kStream, kernel, after(host_, stream_))};
  }

  /// A block's kernels are spread evenly over its modules; those of the ends come with the head.
  void launch_share(std::size_t module, std::size_t begin, std::size_t end, const Ids& there) {
    const std::int64_t block = modules_.order[module].block;
    if (block < 0 && module + 1 < modules_.order.size()) return;
    const std::vector<PassKernel>& all = block < 0 ? kernels_.ends() : kernels_.block(block);
    const std::size_t first = all.size() * (module - begin) / (end - begin);
    const std::size_t last = all.size() * (module - begin + 1) / (end - begin);
    if (first < last) work(static_cast<double>(last - first) * cost("stack.dispatch.eager"));
    for (std::size_t i = first; i < last; ++i) launch(all[i], there);
  }

  /// The thread itself does what the CPU computes.
  void launch(const PassKernel& kernel, const Ids& there) {
    Ids needs = after(after(host_, there), last_);
    if (kernel.fetch > Bytes(0)) needs = {body_.copy(Space::kDevice, Space::kHost, kernel.fetch, needs)};
    last_ = {body_.launch(kernel.on_cpu ? "cpu" : "compute", kernel.kernel, needs)};
    if (kernel.on_cpu) host_ = last_;
    if (kernel.give_back > Bytes(0)) last_ = {body_.copy(Space::kHost, Space::kDevice, kernel.give_back, last_)};
  }

  /// New keys and values that are kept in host memory; where the CPU attends, those of a step come to it with the
  /// queries.
  void store_cache(std::int64_t block) {
    if (policy_.cache.gpu >= 1 || (decodes_ && policy_.cpu_attention)) return;
    const Bytes token = policy_.cache_code.bytes_of(kv_numbers_per_block(task_.spec), task_.type());
    const Bytes fresh = policy_.gpu_batch * cached_tokens(task_.spec, block, kernels_.new_tokens()) * token;
    const Bytes away = share_of(fresh, 1 - policy_.cache.gpu);
    if (policy_.pinned_cache) body_.copy(Space::kDevice, Space::kHost, away, last_);
    if (!policy_.pinned_cache) host_ = {body_.stage(away, after(host_, last_))};
  }

  void work(double microseconds) { host_ = {body_.work_on_host(Nanoseconds(std::llround(microseconds * 1e3)), host_)}; }

  static double cost(const char* key) { return cost_constants().at(key); }

  static Ids after(const Ids& these, const Ids& those) {
    Ids both = these;
    both.insert(both.end(), those.begin(), those.end());
    return both;
  }

  const InferenceTask& task_;
  const OffloadPolicy& policy_;
  bool gathers_ = false;
  HookedModules modules_;
  ParameterFetches fetches_;
  PassKernels kernels_;
  PassBody body_;
  bool decodes_ = false;
  Ids host_;    ///< after what the thread that launches goes on
  Ids stream_;  ///< the last on the stream of the copies
  Ids last_;    ///< the last kernel of the modules
};

}  // namespace

Plan write_hooked_schedule(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                           std::int64_t cached) {
  return HookedScheduleWriter(task, policy, platform, cached).write();
}

}  // namespace plimsoll
