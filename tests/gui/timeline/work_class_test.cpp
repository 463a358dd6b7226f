#include "gui/timeline/work_class.h"

#include <catch2/catch.hpp>

using namespace plimsoll;
using namespace plimsoll::gui;

TEST_CASE("attention has a tone of its own, whole or in the steps of ranks that share sequences") {
  for (const OpKind kind : {OpKind::kAttention, OpKind::kAttentionBackward, OpKind::kAttentionStep, OpKind::kAttentionStepBackward,
                            OpKind::kKeysValues, OpKind::kLinear}) {
    Plan plan;
    plan.kernels.push_back({.kind = kind, .dtype = DType::kFp32, .shape = {}});
    Instruction launch;
    launch.kind = InstructionKind::kLaunch;
    launch.phase = Phase::kBackward;
    launch.kernel = KernelId(0);
    INFO(to_text(kind));
    const bool attends = kind != OpKind::kKeysValues && kind != OpKind::kLinear;
    CHECK((work_tone(plan, launch) == WorkTone::kAttention) == attends);
  }
}

TEST_CASE("what ranks send round once more on the way back is not computed again") {
  Plan plan;
  plan.kernels.push_back({.kind = OpKind::kKeysValues, .dtype = DType::kFp32, .shape = {}});
  Instruction launch;
  launch.kind = InstructionKind::kLaunch;
  launch.phase = Phase::kBackward;
  launch.kernel = KernelId(0);
  CHECK(work_class(plan, launch, false) == WorkClass::kBackward);
}

TEST_CASE("a product of the backward pass is computed again where its operands say so, and nothing is known of launches without any") {
  Plan plan;
  plan.kernels.push_back({.kind = OpKind::kLinear, .dtype = DType::kFp32, .shape = {}});
  Instruction launch;
  launch.kind = InstructionKind::kLaunch;
  launch.phase = Phase::kBackward;
  launch.kernel = KernelId(0);
  CHECK(work_class(plan, launch, false) == WorkClass::kBackward);  // as another program's are
  launch.use_count = 3;
  CHECK(work_class(plan, launch, false) == WorkClass::kRecompute);
}
