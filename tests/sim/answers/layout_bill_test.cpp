#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"
#include "sim/answers/layout_bill.h"

namespace plimsoll {
namespace {

constexpr double kCheckpoint = 12 * 124439808.0;  // of GPT-2: four bytes of weights and eight of moments a parameter

ParallelQuestion ask() {
  ParallelQuestion question{.spec = resolve_model("gpt2").value(), .recipe = {.precision = Precision::kBf16Mixed, .sequence = 1000}};
  question.cluster.gpu = find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4").value();
  return question;
}

/// A step of 2 s for 10 sequences: two ranks of the pipeline that compute for 1.6 and 1.2 s of it.
ParallelAnswer answer(std::int64_t data, std::int64_t tensor, std::int64_t stages, int zero) {
  ParallelAnswer answer;
  answer.layout = {.data_ranks = data, .tensor_ranks = tensor, .stages = stages, .zero = zero};
  answer.step_seconds = answer.step_low = answer.step_high = 2;
  answer.samples_per_second = 5;
  answer.ranks.resize(2);
  answer.ranks[0].seconds = {.forward = 0.5, .backward = 1, .bubble = 0.2, .gradient_sends = 0.2, .optimizer = 0.1};
  answer.ranks[1].seconds = {.forward = 0.4, .backward = 0.7, .bubble = 0.8, .optimizer = 0.1};
  answer.limit = "backward";
  return answer;
}

TrainingAnswer bill(const ParallelAnswer& step, const BillTerms& terms = {.preparation = Preparation::kNone}) {
  MachineOptions host;
  host.ssd = Bytes(1'000'000'000'000);
  host.ssd_read_gbs = host.ssd_write_gbs = 1;
  TrainingLength length;
  length.tokens = 36e6;
  length.samples = length.set_samples = 36e3;
  length.stored_bytes = 4000;
  length.prepared_bytes = 2000;
  return bill_layout(ask(), step, host, length, terms).value();
}

}  // namespace

TEST_CASE("a training by a layout takes its samples over the layout's rate, and every GPU is paid for") {
  // 36,000 samples at 5/s are 7,200 s, with a checkpoint of 1.49 s an hour.
  const TrainingAnswer paid = bill(answer(4, 2, 2, 0), {.price_per_hour = 2, .preparation = Preparation::kNone});
  CHECK(paid.steps == 3600);
  CHECK(paid.seconds == Approx(7200 + 2 * kCheckpoint / 1e9).epsilon(1e-6));
  CHECK(*paid.cost == Approx(16 * 2 * paid.seconds / 3600));
}

TEST_CASE("the stages of a training by a layout add up to it, waiting and what nothing hides among them") {
  const TrainingAnswer told = bill(answer(4, 2, 2, 0));
  double sum = 0, waiting = 0, sending = 0;
  for (const TrainingStage& stage : told.stages) {
    sum += stage.seconds;
    if (stage.name == "other waiting") waiting = stage.seconds;
    if (stage.name == "communication") sending = stage.seconds;
  }
  CHECK(sum == Approx(told.seconds));
  CHECK(waiting == Approx(3600 * 0.2));
  CHECK(sending == Approx(3600 * 0.2));
}

TEST_CASE("a GPU draws what the ranks' mean share of computing says") {
  // (1.6 + 1.2) / 2 of 2 s: 70 %; while it waits it draws 15 % of its board power: 0.15 + 0.85 · 0.7 = 0.745 of 400 W.
  const TrainingAnswer told = bill(answer(4, 2, 2, 0));
  CHECK(told.power.front().watts == Approx(16 * 400 * 0.745).epsilon(1e-3));
}

TEST_CASE("around boards of servers half their rated power is drawn, as was measured of eight H100") {
  const TrainingAnswer told = bill(answer(4, 2, 2, 0));
  REQUIRE(told.power.size() == 2);
  CHECK(told.power.back().name == "server");
  CHECK(told.power.back().watts == Approx(16 * 400 * 0.5));
}

TEST_CASE("hosts write at once what each alone has of a checkpoint") {
  const auto checkpoints = [](const TrainingAnswer& told) { return told.seconds - 7200; };
  const double alone = checkpoints(bill(answer(4, 2, 2, 0)));
  CHECK(checkpoints(bill(answer(4, 8, 4, 0))) == Approx(alone / 4).epsilon(1e-6));   // 32 GPUs of a replica: 4 hosts
  CHECK(checkpoints(bill(answer(64, 1, 1, 0))) == Approx(alone).epsilon(1e-6));      // replicas: one writes
  CHECK(checkpoints(bill(answer(64, 1, 1, 1))) == Approx(alone / 8).epsilon(1e-6));  // each has other moments
}

}  // namespace plimsoll
