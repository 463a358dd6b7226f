#include "tests/formats/plans/full_plan.h"

#include "tests/support/small_models.h"

namespace plimsoll::test {
namespace {

Platform full_platform() {
  Platform platform;
  platform.name = "a \"quoted\"\nmachine";
  platform.spaces = {{"gpu0", SpaceKind::kDevice, Bytes(6442450944), Bytes(5555555555)},
                     {"host", SpaceKind::kHost, Bytes(1) * (std::int64_t{1} << 40), Bytes(3)},
                     {"host", SpaceKind::kSsd, Bytes(7), Bytes(5)}};  // two of one name: referred to by index
  platform.processors = {
      {"gpu", ProcessorKind::kGpu, SpaceId(0), 30, 3.36e11, 6.4512e12, 5.16096e13, 0.1, 0.7, "RTX 2060"},
      {"cpu", ProcessorKind::kCpu, SpaceId(1), 8, 1.0 / 3.0, 1e-300, 1e300, 0.30000000000000004, 0, ""}};
  platform.resources = {{"dram", 25.6e9}, {"uplink", 12e9}};
  platform.links = {
      {"h2d", SpaceId(1), SpaceId(0), 12.3e9, Nanoseconds(9000), {{ResourceId(0), 1.5}, {ResourceId(1), 1.0}}},
      {"to disk", SpaceId(1), SpaceId(2), 1e9, Nanoseconds(80000), {}}};
  platform.queues = {{"gpu0.compute", QueueKind::kCompute, ProcessorId(0), 1, 0, {}},
                     {"ssd", QueueKind::kStorage, ProcessorId(), 4, 2, {{ResourceId(0), 0.25}}},
                     {"", QueueKind::kCommunication, ProcessorId(1), 1, 1, {}}};
  return platform;
}

Block full_block() {
  Block block{.name = "layer", .list = {}, .slot_count = 3, .port_count = 2};
  block.list.uses = {{2, Access::kRead, Bytes(0), Bytes(64)},
                     {0, Access::kWrite, Bytes(16), Bytes(48)},
                     {1, Access::kReadWrite, Bytes(8), Bytes(8), 2}};
  block.list.dependencies = {{1, 0, false}, {0, 0, true}, {1, 2, true}, {0, 3, false}};
  block.list.members = {QueueId(1), QueueId(2)};
  block.list.instructions = {
      {.kind = InstructionKind::kLaunch,
       .phase = Phase::kBackward,
       .queue = QueueId(0),
       .kernel = KernelId(1),
       .layer = 0,
       .first_use = 0,
       .use_count = 2,
       .first_dependency = 0,
       .dependency_count = 1,
       .guard = 1},
      {.kind = InstructionKind::kHostWork,
       .phase = Phase::kLoad,
       .task = HostTask::kLoadTokens,
       .queue = QueueId(2),
       .first_use = 2,
       .use_count = 1,
       .first_dependency = 1,
       .dependency_count = 3},
      {.kind = InstructionKind::kCollective, .phase = Phase::kOptimizer, .queue = QueueId(0), .member_count = 2}};
  return block;
}

ModelSpec full_spec() {
  ModelSpec spec = small_model(Family::kLlama);
  spec.name = "näme \\ with \t control";
  spec.norm_epsilon = 1e-6;
  spec.projection_bias = spec.head_bias = spec.qk_norm = spec.parallel_block = true;
  spec.rotary_dim = 6;
  spec.embedding_scale = 1.5;
  spec.window = 20;
  spec.experts = {6, 3, GatingKind::kNoisy, 2, 48, 1.5, 2, 0.125, 0.25, 0.0625};
  spec.experts.dense_first = spec.experts.shared_width = 1;
  spec.experts.shared_gate = spec.experts.router_bias = spec.experts.plain_gates = true;
  spec.experts.sigmoid_scores = spec.sinks = spec.other_arithmetic = spec.wide_qk_norm = true;
  spec.score_cap = 50.5;
  spec.logit_cap = 30.5;
  spec.full_every = 6;
  spec.local_rope_theta = 1e4 / 3;
  spec.rope_scaling = {RopeScalingKind::kLlama3, 8, 1.25, 4.5, 17};
  return spec;
}

Recipe full_recipe() {
  return {.precision = Precision::kBf16Mixed,
          .matmul = MatmulLibrary::kOpenBlas,
          .micro_batch = 3,
          .accumulate = 5,
          .sequence = 17,
          .learning_rate = 0.1 + 0.2,
          .schedule = LrSchedule::kCosine,
          .warmup_steps = 11,
          .total_steps = 13,
          .weight_decay = 1.0 / 7.0,
          .beta1 = 0.91,
          .beta2 = 0.97,
          .epsilon = 1e-9,
          .clip = 2.5,
          .seed = 0xffffffffffffffffu,
          .adapter = {.rank = 3, .alpha = 4.5, .targets = {AdapterTarget::kKey, AdapterTarget::kDown}}};
}

}  // namespace

Plan full_plan() {
  Plan plan;
  plan.spec = full_spec();
  plan.recipe = full_recipe();
  plan.platform = full_platform();
  plan.strategy = {.name = "mine", .recompute_every = 2, .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kSsd,
                   .activations = Tier::kHost, .activation_blocks = 1, .loop_order = LoopOrder::kBreadthFirst, .update_in_backward = true,
                   .host_state_blocks = 1, .device_update_blocks = 2, .staging_slots = 3, .overlap = false};
  plan.kernels = {{OpKind::kAdd, DType::kFp16, {.rows = 4}},
                  {OpKind::kAttentionBackward, DType::kBf16, {1, 2, 3, 4, 5, 6, 7, 8, 15, 9, 11, 12, 13, 14, 10, -0.0}}};
  plan.kernels[0].shape.constant = 1e-5;
  plan.buffers = {{"weights 0", SpaceId(0), Bytes(0), Bytes(64), 1, TensorKind::kParameter, true},
                  {"weights 1", SpaceId(0), Bytes(256), Bytes(64), 1, TensorKind::kParameter, true},
                  {"x", SpaceId(1), Bytes(512), Bytes(100), 3, TensorKind::kActivation, false},
                  {"x", SpaceId(2), Bytes(0), Bytes(100), 2, TensorKind::kWorkspace, false}};
  plan.arenas = {{SpaceId(0), Bytes(1024)}, {SpaceId(1), Bytes(4096)}};
  plan.state = {{TensorKind::kSecondMoment, GroupId(3), BufferId(1)},
                {TensorKind::kParameter, GroupId(0), BufferId(0)}};
  plan.blocks = {full_block()};
  const Call call{.block = BlockId(0),
                  .repeat = 2,
                  .micro_batch = 4,
                  .layer = 3,
                  .layer_stride = -1,
                  .bindings = {{BufferId(1), -1}, {BufferId(2), 1}, {BufferId(3), 0}},
                  .ports = {{3, -2}, {5, 0}}};
  plan.bodies = {{"step", {call}}, {"evaluation", {}}};
  return plan;
}

}  // namespace plimsoll::test
