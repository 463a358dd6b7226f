#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/stack_model_maker.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// The five numbers that are called "GPU memory", each at its own highest.
struct StackMemory {
  Bytes requested;  ///< what tensors asked for
  Bytes allocated;  ///< the blocks that they were given (torch.cuda.max_memory_allocated)
  Bytes reserved;   ///< the segments that hold the blocks (max_memory_reserved)
  Bytes process;    ///< with context, modules and communicators (nvidia-smi, per process)
  Bytes device;     ///< with what others use (nvidia-smi, whole GPU)
};

/// Live bytes at the moment when most are allocated.
struct StackCategories {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes workspace;
};

/// How long a resource is busy in a step.
struct StackLoad {
  const char* resource =
      "";  ///< "compute", "h2d", "ssd.read" … as plans of ours name their queues; "communication"; "launches"
  double seconds = 0;
};

/// Seconds of one optimizer step.
struct StackTime {
  double step = 0;
  double low = 0;
  double high = 0;
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
  double once = 0;    ///< of forward and backward, collectives that are waited for once a step, with its last micro-batch
  double bubble = 0;  ///< of the step, in which this stage of a pipeline waits for others: in no phase
  double exposed_communication = 0;
  double exposed_transfer = 0;
  double model_flops = 0;     ///< of the model's own arithmetic, this GPU's part
  double hardware_flops = 0;  ///< with recomputation
  std::vector<StackLoad> loads;  ///< of what is busy at all, busiest first
};

/// What a stack would need and take on one GPU of a machine.
struct StackPrediction {
  StackMemory peak;        ///< over all steps
  StackMemory first_step;  ///< with states that are created lazily
  StackCategories at_peak;
  std::string peak_at;     ///< "step 1, backward, block 11: linear"
  Bytes usable;            ///< of the device, for the process's allocator and context
  bool fits = false;       ///< the allocator never ran out, empty caches given back
  bool certain = false;    ///< the margin is larger than the guard
  Bytes margin;            ///< usable − what must be had; negative when it does not fit
  Bytes host;              ///< anonymous and pinned bytes of the process in host memory
  Bytes drive;
  Bytes paged_out;         ///< of `host`, managed memory that the GPU has no room for
  StackTime time;
  std::vector<std::string> assumptions;
};

/// What of a prediction is asked for.
enum class StackDetail : std::uint8_t {
  kAll,
  kVerdict,  ///< whether memory is enough, whether certainly, and else what is missing: where it is, `margin` may be less than there is
};

/// Simulates the steps of `setup` on `gpu`: allocations in their order through the stack's allocator, kernels at the rates
/// that are known of this GPU. Data-parallel ranks are alike; one of them is told.
Result<StackPrediction> predict_stack(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                                      StackDetail detail = StackDetail::kAll);

struct DeviceRoom;
struct StackRun;
class StorageLog;

/// Memory alone, of allocations that somebody wrote down; the events' places are positions in `places`.
StackPrediction predict_allocations(const StorageLog& log, const std::vector<std::string>& places, const DeviceRoom& room,
                                    bool expandable_segments);

/// The same as predict_stack, of steps that ran already.
Result<StackPrediction> predict_run(const StackRun& run, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                                    StackDetail detail = StackDetail::kAll);

/// The same of any model under PyTorch.
Result<StackPrediction> predict_model(const StackModelMaker& make, const Recipe& recipe, const StackSetup& setup,
                                      const GpuEntry& gpu);

}  // namespace plimsoll
