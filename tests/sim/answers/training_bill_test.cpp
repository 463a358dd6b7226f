#include <catch2/catch.hpp>

#include "formats/machines/catalogue_platform.h"
#include "formats/models/resolve_model.h"
#include "sim/answers/training_bill.h"

namespace plimsoll {
namespace {

/// GPT-2 on a board of 200 W with a drive of 1 GB/s each way and 10 cores.
Question ask() {
  GpuEntry gpu = find_gpu(built_in_gpu_catalogue(), "RTX 2060 6GB").value();
  gpu.power_watts = 200;
  MachineOptions options;
  options.ram = kGiB * 32;
  options.ssd = Bytes(1'000'000'000'000);
  options.ssd_read_gbs = 1;
  options.ssd_write_gbs = 1;
  options.cpu_cores = 10;
  Question question{.spec = resolve_model("gpt2").value(),
                    .recipe = {.precision = Precision::kFp16Mixed, .micro_batch = 1, .sequence = 1000}};
  return on_machine(std::move(question), {gpu, options}).value();
}

/// A step of 2 s for 10 sequences of 1000 tokens: 5,000 tokens/s; the GPU computes for all of it.
FitAnswer answer() {
  FitAnswer answer{.fits = true, .step_seconds = 2, .step_seconds_low = 1, .step_seconds_high = 4};
  answer.samples_per_second = 5;
  answer.tokens_per_second = 5000;
  answer.phases = {.forward_seconds = 0.5, .backward_seconds = 1, .optimizer_seconds = 0.3, .exposed_transfer_seconds = 0.2};
  answer.loads = {{"compute", 1.0}};
  answer.bottleneck = "compute";
  return answer;
}

TrainingLength length_of(double tokens) {
  TrainingLength length;
  length.tokens = tokens;
  length.samples = length.set_samples = tokens / 1000;
  length.stored_bytes = 4000;
  length.prepared_bytes = 2000;
  return length;
}

const BillTerms kPrepared{.preparation = Preparation::kNone};

double seconds_of(const TrainingAnswer& bill, const std::string& name) {
  for (const TrainingStage& stage : bill.stages) {
    if (stage.name == name) return stage.seconds;
  }
  FAIL("no stage " << name);
  return 0;
}

}  // namespace

TEST_CASE("a training takes its tokens over the rate, and its checkpoints") {
  // 36 M tokens at 5,000/s: 7,200 s in 3,600 steps. The checkpoint of GPT-2 is 12 bytes for each of its 124,439,808
  // parameters, 1.4933 GB: 1.4933 s on the drive; one an hour and none twice at the end: 2.
  const TrainingAnswer bill = bill_training(ask(), answer(), length_of(36e6), kPrepared);
  CHECK(bill.steps == 3600);
  CHECK(checkpoint_bytes(ask().spec, ask().recipe) == Bytes(12 * 124439808LL));
  CHECK(bill.seconds == Approx(7200 + 2 * 1.4932777).epsilon(1e-6));
  CHECK(bill.seconds_low == Approx(3600 + 1.4932777).epsilon(1e-6));
  CHECK(bill.seconds_high == Approx(14400 + 4 * 1.4932777).epsilon(1e-6));
}

TEST_CASE("a training's bill has the states that its durability keeps, by the step, in time and wear") {
  // 3,600 steps, a checkpoint after each 100 that takes 0.5 s: 36 of them, 18 s; with step 3,600, half an hour.
  FitAnswer safe = answer();
  safe.safety = SafetyAnswer{.safety = {Durability::kCheckpoint, 100}, .written_each = Bytes(12 * 124439808LL), .seconds_each = 0.5};
  const TrainingAnswer hundredth = bill_training(ask(), safe, length_of(36e6), kPrepared);
  CHECK(hundredth.seconds == Approx(7200 + 36 * 0.5));
  CHECK(hundredth.drive_written == Approx(36 * 12 * 124439808.0));
  safe.safety->safety = {Durability::kStep, 0};
  const TrainingAnswer each = bill_training(ask(), safe, length_of(36e6), kPrepared);
  CHECK(each.seconds == Approx(7200 + 3600 * 0.5));
  CHECK(seconds_of(each, "checkpoints") == Approx(1800));
  safe.safety->seconds_each = 4;
  CHECK(bill_training(ask(), safe, length_of(36e6), kPrepared).limit == "checkpoints: the drive that they are written to");
  safe.safety->seconds_each = {};  // as fast as the bill has the drive
  CHECK(bill_training(ask(), safe, length_of(36e6), kPrepared).seconds == Approx(7200 + 3600 * 1.4932777));
}

TEST_CASE("the stages of a training add up to it") {
  const TrainingAnswer bill = bill_training(ask(), answer(), length_of(36e6), {});
  double sum = 0;
  for (const TrainingStage& stage : bill.stages) sum += stage.seconds;
  CHECK(sum == Approx(bill.seconds));
  CHECK(seconds_of(bill, "backward") == Approx(3600));
  CHECK(bill.limit == "backward: compute");
}

TEST_CASE("ten times the tokens take ten times as long, but for what is done once") {
  const auto steps_of = [](double tokens) { return bill_training(ask(), answer(), length_of(tokens), kPrepared); };
  const TrainingAnswer one = steps_of(1e9), ten = steps_of(1e10);
  CHECK(ten.steps == 10 * one.steps);
  CHECK(ten.seconds == Approx(10 * one.seconds).epsilon(1e-4));
  CHECK(*ten.energy_kwh == Approx(10 * *one.energy_kwh).epsilon(1e-4));
}

TEST_CASE("six operations a parameter and token over the rate are the time, for any number of steps") {
  // 6 · 124,439,808 · 1e9 = 7.466e17 operations; a step of 10,000 tokens has 7.466e12, in 2 s 3.733e12 a second.
  FitAnswer fast = answer();
  const TrainingAnswer bill = bill_training(ask(), fast, length_of(1e9), kPrepared);
  const double operations = 6.0 * 124439808 * 1e9, rate = 6.0 * 124439808 * 10000 / 2;
  CHECK(bill.steps * fast.step_seconds == Approx(operations / rate));
}

TEST_CASE("energy is watts times hours at the wall, and money is hours and kWh by their prices") {
  const BillTerms terms{.price_per_hour = 0.5, .price_per_kwh = 0.3, .preparation = Preparation::kNone};
  const TrainingAnswer bill = bill_training(ask(), answer(), length_of(36e6), terms);
  // The board 200 W less 15 % of it for the moments of checkpoints; cores 10 · 10.8 · 0.3 = 32.4 W; memory 32 · 0.375 = 12 W;
  // mainboard 30 W; the drive next to nothing: 274.4 W, at 0.9 of the supply 304.9 W, for two hours 0.6098 kWh.
  CHECK(*bill.energy_kwh == Approx(0.6098).epsilon(0.002));
  CHECK(*bill.rent == Approx(0.5 * bill.seconds / 3600));
  CHECK(*bill.electricity == Approx(0.3 * *bill.energy_kwh));
  CHECK(*bill.cost == Approx(*bill.rent + *bill.electricity));
}

TEST_CASE("a drive wears by what steps and checkpoints write, against its rated bytes") {
  FitAnswer writes = answer();
  writes.drive_written = Bytes(1'000'000'000);
  const TrainingAnswer bill =
      bill_training(ask(), writes, length_of(36e6), {.drive_rated = 600e12, .preparation = Preparation::kNone});
  // 3,600 steps of 1 GB and two checkpoints of 1.4933 GB: 3,602.99 GB of 600 TB.
  CHECK(bill.drive_written == Approx(3600e9 + 2 * 12 * 124439808.0));
  CHECK(*bill.wear() == Approx(0.0060050).epsilon(1e-4));
  const TrainingAnswer rated = bill_training(ask(), writes, length_of(36e6), kPrepared);
  CHECK(*rated.drive_rated == Approx(600e12));  // 600 TB a TB
}

TEST_CASE("data that is read or prepared more slowly than the model learns limits the training") {
  // A sequence of 30 GB: 10 of them in 300 s of the drive, where the step takes 2 s.
  TrainingLength heavy = length_of(1e6);
  heavy.prepared_bytes = 30e9;
  const TrainingAnswer reads = bill_training(ask(), answer(), heavy, kPrepared);
  CHECK_THAT(reads.limit, Catch::Contains("load"));
  CHECK(reads.seconds == Approx(100 * 300).epsilon(0.001));
  CHECK(seconds_of(reads, "load") == Approx(100 * 298));
  // Ten images at 150 a second and core on 10 cores are 1/150 s of all cores; at a step of 2 s nobody waits for them.
  TrainingLength images = length_of(1e6);
  images.content = DataContent::kImage;
  CHECK(seconds_of(bill_training(ask(), answer(), images, {}), "preprocess") == 0);
  FitAnswer quick = answer();
  quick.step_seconds = 0.002;
  quick.samples_per_second = 5000;
  CHECK_THAT(bill_training(ask(), quick, images, {}).limit, Catch::Contains("preprocess"));
}

TEST_CASE("what is prepared ahead is prepared once, whatever the epochs") {
  TrainingLength length = length_of(1e9);
  const double once = seconds_of(bill_training(ask(), answer(), length, {}), "preprocess");
  // A million sequences of 4,000 bytes at 6.7 MB/s on ten cores: 4e9 / 6.7e7 s.
  CHECK(once == Approx(4e9 / 6.7e7));
  length.samples *= 3;
  CHECK(seconds_of(bill_training(ask(), answer(), length, {}), "preprocess") == Approx(once));
}

TEST_CASE("a GPU whose power nobody states has no energy, rather than a guess") {
  Question question = ask();
  question.machine->gpu.power_watts.reset();
  const TrainingAnswer bill = bill_training(question, answer(), length_of(1e9), {.price_per_kwh = 0.3});
  CHECK_FALSE(bill.energy_kwh);
  CHECK_FALSE(bill.cost);
}

}  // namespace plimsoll
