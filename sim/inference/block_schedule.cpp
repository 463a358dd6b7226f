#include "sim/inference/block_schedule.h"

#include "core/inference/kv_cache.h"
#include "sim/inference/pass_body.h"
#include "sim/inference/pass_kernels.h"
#include "sim/inference/share_of.h"

namespace plimsoll {
namespace {

using Space = SpaceKind;

class ScheduleWriter {
 public:
  ScheduleWriter(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform, std::int64_t cached)
      : task_(task),
        policy_(policy),
        weights_(store_weights(task.spec, task.type(), policy.weight_code)),
        kernels_(task, policy, cached),
        body_(platform, policy.overlap),
        cached_(cached) {
    stream_ = Bytes(policy.gpu_batch * kernels_.new_tokens() * task.spec.hidden * size_of(task.type()));
  }

  Plan write() {
    const auto layers = static_cast<std::int64_t>(weights_.blocks.size());
    for (std::int64_t stage = 0; stage <= layers; ++stage) {
      for (std::int64_t batch = 0; batch < policy_.batches; ++batch) {
        load_weights(stage == layers       ? weights_.blocks.front()
                     : stage + 1 == layers ? weights_.ends
                                           : weights_.blocks[stage + 1]);
        if (stage < layers) round_of_block(stage);
        if (stage == layers) compute(kernels_.ends());
        body_.end_round();
        staged_.clear();
      }
    }
    return body_.finish();
  }

 private:
  [[nodiscard]] bool decodes() const { return cached_ > 0; }
  [[nodiscard]] bool cpu_attends() const { return decodes() && policy_.cpu_attention && policy_.cache.gpu < 1; }

  /// Of one batch.
  [[nodiscard]] Bytes cache_of(std::int64_t layer, std::int64_t tokens) const {
    const Bytes token = policy_.cache_code.bytes_of(kv_numbers_per_block(task_.spec), task_.type());
    return policy_.gpu_batch * cached_tokens(task_.spec, layer, tokens) * token;
  }

  void round_of_block(std::int64_t layer) {
    if (decodes()) load_cache(cache_of(layer, cached_));
    move_activations();
    compute(kernels_.block(layer));
    store_cache(cache_of(layer, kernels_.new_tokens()));
  }

  /// A share of the next layer's weights; what comes from the SSD is read a round ahead.
  void load_weights(Bytes layer) {
    const Bytes each(layer.count / policy_.batches);
    read(share_of(each, policy_.weights.ssd()));
    upload(share_of(each, 1 - policy_.weights.gpu), policy_.pinned_weights);
  }

  void load_cache(Bytes cache) {
    read(share_of(cache, policy_.cache.ssd()));
    if (!cpu_attends()) upload(share_of(cache, 1 - policy_.cache.gpu), policy_.pinned_cache);
  }

  /// Where the CPU attends, new keys and values come to the host with the queries.
  void store_cache(Bytes fresh) {
    if (!cpu_attends()) download(share_of(fresh, 1 - policy_.cache.gpu), policy_.pinned_cache);
    write_ssd(share_of(fresh, policy_.cache.ssd()));
  }

  void move_activations() {
    if (policy_.activations.gpu >= 1) return;
    const Bytes away = share_of(stream_, 1 - policy_.activations.gpu);
    const Bytes drive = share_of(stream_, policy_.activations.ssd());
    read(drive);
    upload(away, true);
    download(away, true);
    write_ssd(drive);
  }

  void read(Bytes bytes) {
    if (bytes > Bytes(0)) body_.copy(Space::kSsd, Space::kHost, bytes);
  }
  void write_ssd(Bytes bytes) {
    if (bytes > Bytes(0)) body_.copy(Space::kHost, Space::kSsd, bytes);
  }
  /// Staging and the transfer itself go on together; without overlap the slower of them stands for both.
  void upload(Bytes bytes, bool pinned) {
    if (bytes <= Bytes(0)) return;
    if (!pinned) staged_.push_back(body_.stage(bytes));
    if (pinned || policy_.overlap) body_.copy(Space::kHost, Space::kDevice, bytes);
  }
  void download(Bytes bytes, bool pinned) {
    if (bytes <= Bytes(0)) return;
    if (!pinned) body_.stage(bytes);
    if (pinned || policy_.overlap) body_.copy(Space::kDevice, Space::kHost, bytes);
  }

  /// The thread that stages is the one that launches: kernels come after what it has staged.
  void compute(const std::vector<PassKernel>& kernels) {
    std::vector<std::uint32_t> after = staged_;
    for (const PassKernel& kernel : kernels) {
      if (kernel.fetch > Bytes(0)) after = {body_.copy(Space::kDevice, Space::kHost, kernel.fetch, after)};
      after = {body_.launch(kernel.on_cpu ? "cpu" : "compute", kernel.kernel, after)};
      if (kernel.give_back > Bytes(0)) after = {body_.copy(Space::kHost, Space::kDevice, kernel.give_back, after)};
    }
  }

  const InferenceTask& task_;
  const OffloadPolicy& policy_;
  StoredWeights weights_;
  PassKernels kernels_;
  PassBody body_;
  std::int64_t cached_ = 0;
  Bytes stream_;  ///< of one batch
  std::vector<std::uint32_t> staged_;
};

}  // namespace

Plan write_block_schedule(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform, std::int64_t cached) {
  return ScheduleWriter(task, policy, platform, cached).write();
}

}  // namespace plimsoll
