// What of a training is on the disk, step by step, and what is noticed when it changes there.
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "core/base/error.h"
#include "executor/checkpoint/training_state.h"
#include "formats/models/safetensors_checksums.h"
#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

const Strategy kOnSsd{
    .name = "offload-optimizer-ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 3};

Error failure_of(const RunRequest& request, const RunWatcher& watcher = {}) {
  try {
    const auto ended = run_session(request, watcher, std::atomic<bool>(false));
    if (!ended) return ended.error();
    FAIL("the run ended well");
  } catch (const EnvironmentError& failure) {
    return failure.error();
  }
  return {};
}

/// Flips a bit of what the drive gives back, once `armed`, in transfers of at least 4 KiB.
class FlippingIo final : public BlockIo {
 public:
  FlippingIo(std::unique_ptr<BlockIo> inner, std::shared_ptr<std::atomic<bool>> armed)
      : inner_(std::move(inner)), armed_(std::move(armed)) {}

  void read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) override {
    inner_->read(offset, into, {});
    if (into.size() >= 4096 && armed_->exchange(false)) into[into.size() / 2] ^= std::byte{8};
    if (look) look(offset, into);
  }
  void write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) override { inner_->write(offset, from, look); }
  [[nodiscard]] std::string name() const override { return inner_->name(); }

 private:
  std::unique_ptr<BlockIo> inner_;
  std::shared_ptr<std::atomic<bool>> armed_;
};

}  // namespace

TEST_CASE("with durability step the state of every step that was told of is on the disk, in one of two files") {
  for (const bool on_drive : {false, true}) {
    const TemporaryFolder folder;
    RunRequest request = small_request(folder, Family::kGpt2, 9);
    const std::vector<double> whole = losses_of(request);
    if (on_drive) request = with_strategy(request, kOnSsd);
    request.output = folder.file("safe.plimsoll");
    request.schedule.durability = Durability::kStep;
    const StateFiles files = state_files_of(request.output);
    std::vector<std::int64_t> found;
    RunWatcher watcher;
    watcher.on_step = [&](const StepSummary&, std::int64_t) { found.push_back(find_states(files).best->steps_done); };
    const auto ended = run_session(request, watcher, std::atomic<bool>(false));
    if (!ended) FAIL(ended.error().text());
    CHECK(losses_of(*ended) == whole);
    CHECK(found == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK_FALSE(std::filesystem::exists(files.steps[0]));  // the checkpoint in the end holds as much
    CHECK(check_training_state(files.checkpoint).value() == 9);
    REQUIRE(ended->safety);
    CHECK(ended->safety->measured->times == 9);
    // What is written is the state and the file's header, whose length is a multiple of 4096.
    const Bytes header = ended->safety->measured->written_each - ended->safety->written_each;
    CHECK((header > Bytes(0) && header < Bytes(16384) && ended->safety->measured->written_each > ended->safety->written_each));
    CHECK((ended->safety->read_each > Bytes(0)) == on_drive);
  }
}

TEST_CASE("with durability checkpoint the one before is kept too") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 8);
  request.schedule.durability = Durability::kCheckpoint;
  request.schedule.save_every = 3;
  run_to_end(request);  // checkpoints after 3, 6 and 8 steps
  const StateFiles files = state_files_of(request.output);
  CHECK(check_training_state(files.checkpoint).value() == 8);
  CHECK(check_training_state(files.previous).value() == 6);
}

TEST_CASE("a bit that the drive flips ends the run with the chunk's name, and the last good state is offered") {
  const auto [durability, whole_until] = GENERATE(std::pair(Durability::kStep, 7), std::pair(Durability::kCheckpoint, 4));
  const TemporaryFolder folder;
  RunRequest request = with_strategy(small_request(folder, Family::kGpt2, 12), kOnSsd);
  const std::vector<double> whole = losses_of(request);
  request.output = folder.file("flipped.plimsoll");
  request.schedule.durability = durability;
  if (durability == Durability::kCheckpoint) request.schedule.save_every = 4;
  const auto armed = std::make_shared<std::atomic<bool>>(false);
  request.drive.interpose = [&](std::unique_ptr<BlockIo> inner) { return std::make_unique<FlippingIo>(std::move(inner), armed); };
  RunWatcher watcher;
  watcher.on_step = [&](const StepSummary& step, std::int64_t) { *armed = step.step == 6; };
  const Error error = failure_of(request, watcher);
  INFO(error.text());
  CHECK_THAT(error.what, Catch::Contains("are not those that were written") && Catch::Contains(" of group "));
  CHECK_THAT(error.remedy, Catch::Contains(fmt::format("the checkpoint of step {} is whole", whole_until)));
  request.resume = find_states(state_files_of(request.output)).best->path;
  request.output = folder.file("resumed.plimsoll");
  request.drive.interpose = {};
  CHECK(losses_of(request) == std::vector<double>(whole.begin() + whole_until, whole.end()));
}

TEST_CASE("a checkpoint that was damaged is refused with the tensor's name, and the one before is offered") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 8);
  request.schedule.durability = Durability::kCheckpoint;
  request.schedule.save_every = 3;
  run_to_end(request);
  const StateFiles files = state_files_of(request.output);
  {
    std::FILE* file = std::fopen(files.checkpoint.c_str(), "r+b");
    REQUIRE(file != nullptr);
    std::fseek(file, -1, SEEK_END);
    const int last = std::fgetc(file);
    std::fseek(file, -1, SEEK_END);
    std::fputc(last ^ 1, file);
    std::fclose(file);
  }
  request.resume = files.checkpoint;
  request.output = folder.file("more.plimsoll");
  request.schedule.end_step = 12;
  const Error error = failure_of(request);
  CHECK_THAT(error.where, Catch::Contains(files.checkpoint) && Catch::Contains("tensor 'group."));
  CHECK(error.remedy == "the state of step 6 is whole: --resume " + files.previous);
}

TEST_CASE("a loss that is not finite ends the run, skips the step or does nothing, as was asked") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 6);
  request.recipe.learning_rate = 1e36;  // the first step is sound, and takes the weights where nothing is
  request.schedule.on_nan = OnNan::kIgnore;
  const std::vector<double> ignored = losses_of(request);
  CHECK(std::isfinite(ignored[0]));
  REQUIRE_FALSE(std::isfinite(ignored[1]));

  request.output = folder.file("stopped.plimsoll");
  request.schedule.on_nan = OnNan::kStop;
  request.schedule.save_every = 1;
  const Error error = failure_of(request);
  CHECK(error.kind == ErrorKind::kInfeasible);
  CHECK_THAT(error.what, Catch::Contains("went astray: step 2 has a loss of"));
  CHECK_THAT(error.remedy, Catch::Contains("the checkpoint of step 1 is whole"));

  request.output = folder.file("skipped.plimsoll");
  request.schedule.on_nan = OnNan::kSkip;
  request.schedule.durability = Durability::kStep;
  request.schedule.save_every = 0;
  const RunOutcome skipped = run_to_end(request);
  REQUIRE(skipped.steps.size() == 6);
  CHECK_FALSE(skipped.steps[0].skipped);
  for (std::size_t s = 1; s < 6; ++s) CHECK(skipped.steps[s].skipped);
  // Nothing was updated since the first step: weights and moments are those of its checkpoint, tensor by tensor.
  const auto first = SafetensorsFile::open(state_files_of(folder.file("stopped.plimsoll")).checkpoint);
  const auto last = SafetensorsFile::open(state_files_of(request.output).checkpoint);
  REQUIRE((first && last));
  for (const SafetensorsTensor& tensor : first->header().tensors) {
    const std::string key = checksum_key(tensor.name);
    CHECK(first->header().metadata.at(key) == last->header().metadata.at(key));
  }
}

}  // namespace plimsoll::test
