#include "executor/cpu/execute.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

/// Buffers of the host's arena, one after another, and a body of the instructions that a case adds.
struct HandMade {
  HandMade() {
    plan.spec = tiny_spec();
    plan.recipe = tiny_recipe();
    plan.platform = tiny_machine();
    host = *plan.platform.space(SpaceKind::kHost);
  }

  Plan plan;
  FlatBody body;
  SpaceId host;
  Bytes end;

  BufferId buffer(std::int64_t bytes, std::uint32_t slots = 1) {
    Buffer added{.name = "buffer", .space = host, .offset = end, .bytes = Bytes(bytes), .slots = slots};
    plan.buffers.push_back(added);
    end = align_up(end + added.extent(), kBufferAlignment);
    return BufferId(plan.buffers.size() - 1);
  }

  std::uint32_t add(InstructionKind kind, HostTask task, const std::vector<std::pair<BufferId, Access>>& uses,
                    std::uint32_t guard = kNoGuard) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.task = task;
    instruction.queue = QueueId(0);
    instruction.first_use = static_cast<std::uint32_t>(body.list.uses.size());
    instruction.use_count = static_cast<std::uint32_t>(uses.size());
    instruction.guard = guard;
    for (const auto& [buffer, access] : uses) {
      body.list.uses.push_back(
          {.target = buffer.index, .access = access, .offset = Bytes(0), .bytes = plan.at(buffer).bytes});
    }
    body.list.instructions.push_back(instruction);
    body.micro_batches.push_back(0);
    return static_cast<std::uint32_t>(body.size() - 1);
  }
};

/// A hand-made body over real memory.
struct Rig {
  explicit Rig(HandMade& made) : plan(made.plan) {
    plan.arenas = {{.space = made.host, .bytes = made.end}};
    arenas.emplace(plan);
    const Segment all{.first = 0, .micro_batch = 0, .layer = -1, .name = "all"};
    program = make_program(plan, fold(plan, "step", made.body, std::span(&all, 1)), *arenas);
  }

  Outcome run(std::uint32_t id, std::int64_t step = 0) {
    return execute({plan, program, pool, product, tokens, 5}, id, step);
  }

  template <typename T>
  T* at(BufferId buffer, std::uint64_t step = 0) {
    return reinterpret_cast<T*>(arenas->at(plan.at(buffer).space, plan.at(buffer).offset_in(step)));
  }

  Plan plan;
  std::optional<ArenaSet> arenas;
  Program program;
  WorkerPool pool{1};
  MatrixProduct product{MatmulLibrary::kOpenBlas};
  RepeatedText tokens{"abcdefghij"};
};

}  // namespace

TEST_CASE("a copy moves all bytes of this step's slots") {
  HandMade made;
  const BufferId from = made.buffer(8, 2);
  const BufferId to = made.buffer(8);
  const std::uint32_t copy =
      made.add(InstructionKind::kCopy, HostTask::kNone, {{from, Access::kRead}, {to, Access::kWrite}});
  Rig rig(made);
  *rig.at<double>(from, 0) = 1.5;
  *rig.at<double>(from, 1) = 2.5;
  for (const std::int64_t step : {0, 1, 2, 7}) {
    CHECK_FALSE(rig.run(copy, step).skipped);
    CHECK(*rig.at<double>(to) == (step % 2 == 0 ? 1.5 : 2.5));
  }
}

TEST_CASE("a guarded instruction runs when any byte of its flag is set and is skipped otherwise") {
  HandMade made;
  const BufferId from = made.buffer(8);
  const BufferId flag = made.buffer(4);
  const BufferId to = made.buffer(8);
  const std::uint32_t copy = made.add(InstructionKind::kCopy, HostTask::kNone,
                                      {{from, Access::kRead}, {flag, Access::kRead}, {to, Access::kWrite}}, 1);
  Rig rig(made);
  *rig.at<double>(from) = 3.0;
  CHECK(rig.run(copy).skipped);
  CHECK(*rig.at<double>(to) == 0.0);
  rig.at<std::uint8_t>(flag)[3] = 1;
  CHECK_FALSE(rig.run(copy).skipped);
  CHECK(*rig.at<double>(to) == 3.0);
}

TEST_CASE("loading writes the windows of this step's rows") {
  HandMade made;
  const BufferId batch = made.buffer(2 * 17 * 4);  // two rows of sequence + 1 = 17 tokens
  const std::uint32_t load = made.add(InstructionKind::kHostWork, HostTask::kLoadTokens, {{batch, Access::kWrite}});
  Rig rig(made);
  rig.run(load, 9);
  for (std::int64_t row = 0; row < 2; ++row) {
    const std::int64_t start = window_start(5, 9, 0, row, 4096, 16);
    for (std::int64_t i = 0; i < 17; ++i) {
      CHECK(rig.at<std::int32_t>(batch)[row * 17 + i] == 'a' + (start + i) % 10);
    }
  }
}

TEST_CASE("a report is the mean of the micro-batches' losses, and the norm where there is one") {
  HandMade made;
  const BufferId first = made.buffer(8);
  const BufferId second = made.buffer(8);
  const BufferId clip = made.buffer(16);
  const std::vector<std::pair<BufferId, Access>> losses{{first, Access::kRead}, {second, Access::kRead}};
  std::vector<std::pair<BufferId, Access>> with_norm = losses;
  with_norm.emplace_back(clip, Access::kRead);
  const std::uint32_t plain = made.add(InstructionKind::kHostWork, HostTask::kReportLoss, losses);
  const std::uint32_t clipped = made.add(InstructionKind::kHostWork, HostTask::kReportLoss, with_norm);
  Rig rig(made);
  rig.program.micro_batches = 2;
  *rig.at<double>(first) = 1.0;
  *rig.at<double>(second) = 4.0;
  rig.at<double>(clip)[0] = 0.25;
  rig.at<double>(clip)[1] = 4.5;
  CHECK(rig.run(plain).report->loss == 2.5);
  CHECK(rig.run(plain).report->gradient_norm == 0.0);
  CHECK(rig.run(clipped).report->loss == 2.5);
  CHECK(rig.run(clipped).report->gradient_norm == 4.5);
}

TEST_CASE("a report of a model with experts is the mean of their losses and refused shares, behind the norm or without one") {
  for (const bool clips : {false, true}) {
    HandMade made;
    made.plan.spec.experts = {.count = 4, .per_token = 2};
    std::vector<std::pair<BufferId, Access>> read;
    for (const std::int64_t bytes : {8, 8, 16, 16, 16}) {  // two losses, the norm, two micro-batches of experts
      if (clips || read.size() != 2) read.emplace_back(made.buffer(bytes), Access::kRead);
      else read.emplace_back(BufferId(), Access::kRead);
    }
    const std::vector<std::pair<BufferId, Access>> named = read;
    std::erase_if(read, [](const auto& use) { return !use.first.valid(); });
    const std::uint32_t report = made.add(InstructionKind::kHostWork, HostTask::kReportLoss, read);
    Rig rig(made);
    rig.program.micro_batches = 2;
    *rig.at<double>(named[0].first) = 1.0;
    *rig.at<double>(named[1].first) = 4.0;
    if (clips) rig.at<double>(named[2].first)[1] = 4.5;
    const double experts[] = {0.5, 0.25, 1.5, 0.75};  // loss and share of each micro-batch
    std::copy_n(experts, 2, rig.at<double>(named[3].first));
    std::copy_n(experts + 2, 2, rig.at<double>(named[4].first));
    const LossReport made_of = *rig.run(report).report;
    CHECK(made_of.loss == 2.5);
    CHECK(made_of.gradient_norm == (clips ? 4.5 : 0.0));
    CHECK(made_of.expert_loss == 1.0);
    CHECK(made_of.expert_overflow == 0.5);
  }
}

}  // namespace plimsoll
