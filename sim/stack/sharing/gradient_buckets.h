#pragma once

#include <unordered_map>
#include <vector>

#include "sim/stack/sharing/state_sharing.h"

namespace plimsoll {

struct GradientBucketOptions {
  std::int64_t ranks = 1;
  Bytes first = kMiB;
  Bytes others = 25 * kMiB;
  bool gradients_are_views = false;  ///< gradient_as_bucket_view
  bool shares_states = false;        ///< ZeroRedundancyOptimizer: a rank updates some parameters and sends them round
};

/// PyTorch's DistributedDataParallel: gradients are copied into buckets, in the reverse order of the parameters and, from the
/// second step on, in the order in which they came; a full bucket is reduced while backward goes on.
class GradientBuckets : public StateSharing {
 public:
  GradientBuckets(Tape& tape, GradientBucketOptions options);

  void begin(bool last_micro_batch) override;
  void update(const Recipe& recipe, OptimizerLoop loop) override;

 private:
  struct Bucket {
    Tensor memory;
    std::int64_t parameters = 0;
    std::int64_t ready = 0;
  };

  void send_parameters_round();
  void make_buckets(const std::vector<Parameter*>& order);
  void close(Bucket& bucket, std::int64_t elements, DType dtype);
  void take(Parameter& parameter);

  GradientBucketOptions options_;
  std::vector<Bucket> buckets_;
  std::unordered_map<Parameter*, std::size_t> bucket_of_;
  std::vector<Parameter*> arrivals_;
  bool reduces_ = false;
  bool rebuilt_ = false;
};

}  // namespace plimsoll
