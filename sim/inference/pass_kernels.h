#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "sim/inference/inference_task.h"

namespace plimsoll {

/// A kernel of a pass, where it runs, and what it takes from the device and gives back to it when that is the CPU.
struct PassKernel {
  Kernel kernel;
  bool on_cpu = false;
  Bytes fetch;
  Bytes give_back;
};

/// The kernels of one batch's pass by layer: those of the inference graph, those that read and make codes before and behind
/// them, and attention on the CPU where a policy says so.
class PassKernels {
 public:
  PassKernels(const InferenceTask& task, const OffloadPolicy& policy, std::int64_t cached);

  [[nodiscard]] std::int64_t new_tokens() const { return pass_.new_tokens; }
  [[nodiscard]] const std::vector<PassKernel>& block(std::int64_t layer) const {
    return blocks_[static_cast<std::size_t>(layer)];
  }
  /// Of embeddings and head.
  [[nodiscard]] const std::vector<PassKernel>& ends() const { return ends_; }

 private:
  void add(std::vector<PassKernel>& to, const Op& op);
  void add_attention(std::vector<PassKernel>& to, const Op& op);
  void add_cpu_attention(std::vector<PassKernel>& to, const Op& op, std::int64_t sequences);
  void add_decoding(std::vector<PassKernel>& to, std::int64_t numbers, GroupCode code, std::int64_t eager_bytes);
  void add_encoding(std::vector<PassKernel>& to, std::int64_t numbers, GroupCode code);
  void add_stream(std::vector<PassKernel>& to, std::int64_t numbers, std::int64_t bytes, bool on_cpu = false);
  void add_written_out(std::vector<PassKernel>& to, OpShape& shape, std::int64_t sequences, std::int64_t block);
  void add_repeated_heads(std::vector<PassKernel>& to, OpShape& shape, std::int64_t numbers, bool on_cpu);
  [[nodiscard]] std::int64_t repeats() const;

  const InferenceTask& task_;
  const OffloadPolicy& policy_;
  InferencePass pass_;
  std::vector<std::vector<PassKernel>> blocks_;
  std::vector<PassKernel> ends_;
};

}  // namespace plimsoll
