#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "sim/parallel/collectives.h"
#include "tests/sim/parallel/training.h"

namespace plimsoll {
namespace {

using test::answer_of;
using test::gpt_on;

double total(const RankSeconds& s) {
  return s.forward + s.backward + s.tensor_sends + s.expert_sends + s.shard_sends + s.bubble + s.gradient_sends +
         s.optimizer + s.wait;
}

void same(const ParallelAnswer& a, const ParallelAnswer& b) {
  CHECK(a.step_seconds == b.step_seconds);
  CHECK(a.bubble_fraction == b.bubble_fraction);
  REQUIRE(a.ranks.size() == b.ranks.size());
  for (std::size_t rank = 0; rank < a.ranks.size(); ++rank) {
    CHECK(total(a.ranks[rank].seconds) == total(b.ranks[rank].seconds));
    CHECK(a.ranks[rank].memory.total() == b.ranks[rank].memory.total());
  }
}

}  // namespace

TEST_CASE("Folded ranks take what all ranks take, stragglers included") {
  ParallelQuestion question = gpt_on(32);
  question.layout = {.data_ranks = 4, .tensor_ranks = 2, .stages = 4, .zero = 1, .global_batch = 32};
  for (const int slow : {0, 1, 2}) {
    if (slow > 0) question.slow.push_back({.rank = 5 * slow, .factor = 1 + 0.1 * slow});
    question.exact = false;
    const ParallelAnswer folded = answer_of(question);
    question.exact = true;
    const ParallelAnswer exact = answer_of(question);
    same(folded, exact);
    CHECK(exact.simulated_ranks == 32);
    CHECK(folded.simulated_ranks == 4 * (slow + 1));
  }
}

TEST_CASE("The parts of a rank's step add up to the step, and every rank ends with it") {
  ParallelQuestion question = gpt_on(16);
  question.layout = {
      .data_ranks = 2, .tensor_ranks = 2, .stages = 4, .schedule = "interleaved", .chunks = 2, .global_batch = 16};
  const ParallelAnswer answer = answer_of(question);
  REQUIRE(answer.ranks.size() == 4);
  for (const RankAnswer& rank : answer.ranks) {
    CHECK(total(rank.seconds) == Approx(answer.step_seconds).epsilon(1e-9));
    CHECK(rank.seconds.wait >= -1e-12);
    CHECK(rank.seconds.gradient_sends >= 0);
    CHECK(rank.layers == 2);
  }
}

TEST_CASE("Blocks with a window shorter than the sequence are said to take the time of such that see all") {
  const auto says = [](std::int64_t sequence) {
    ParallelQuestion question = gpt_on(8);
    question.spec = *resolve_model("mistral:layers=4,hidden=1024,heads=16,vocab=32768,positions=4096,window=1024");
    question.recipe.sequence = sequence;
    question.layout = {.data_ranks = 8, .global_batch = 8};
    const ParallelAnswer answer = answer_of(question);
    return std::any_of(answer.assumed.begin(), answer.assumed.end(), [](const std::string& text) { return text.find("window of 1024") != std::string::npos; });
  };
  CHECK(says(1025));
  CHECK_FALSE(says(1024));
}

TEST_CASE("A rank that takes twice as long holds everybody up, by at most as much") {
  ParallelQuestion question = gpt_on(8);
  question.layout = {.data_ranks = 2, .stages = 4, .global_batch = 32};
  const double even = answer_of(question).step_seconds;
  question.slow = {{.rank = 7, .factor = 2}};  // the last stage, which has the head
  const double slowed = answer_of(question).step_seconds;
  CHECK(slowed > 1.5 * even);
  CHECK(slowed <= 2 * even * (1 + 1e-9));
  question.slow = {{.rank = 8, .factor = 2}};
  CHECK_FALSE(predict_parallel(question));
}

TEST_CASE("One rank's step has no bubble, and 1F1B's is (p - 1) / (m + p - 1) of equal stages") {
  ParallelQuestion question = gpt_on(1);
  question.layout = {.global_batch = 4};
  CHECK(answer_of(question).bubble_fraction == Approx(0).margin(1e-9));
  // Many layers a stage make embedding and head small: 3 / (8 + 3) = 0.273.
  question = gpt_on(4, 96);
  question.layout = {.stages = 4, .global_batch = 8};
  CHECK(answer_of(question).bubble_fraction == Approx(3.0 / 11).margin(0.03));
}

TEST_CASE("A warm pipeline adds the same time again and again") {
  for (const char* schedule : {"1f1b", "interleaved", "zb-h1"}) {
    CAPTURE(schedule);
    ParallelQuestion question = gpt_on(4);
    question.layout = {.stages = 4,
                       .schedule = schedule,
                       .chunks = std::string(schedule) == "interleaved" ? 2 : 1,
                       .global_batch = 64};
    const auto pieces =
        stage_pieces(question.spec, question.recipe, question.layout, question.choices, question.cluster);
    REQUIRE(pieces);
    const auto steady = predict_steady(question, *pieces), whole = predict_with(question, *pieces);
    REQUIRE(steady);
    REQUIRE(whole);
    CHECK(steady->step_seconds == Approx(whole->step_seconds).epsilon(1e-3));
    CHECK(steady->peak() == whole->peak());
    CHECK(steady->bubble_fraction == Approx(whole->bubble_fraction).margin(5e-3));
  }
}

TEST_CASE("ZeRO shares out what it says, over data ranks") {
  ParallelQuestion question = gpt_on(8);
  question.layout = {.data_ranks = 8, .global_batch = 8};
  const RankMemory all = answer_of(question).ranks[0].memory;
  const auto eighth = [](Bytes whole) { return static_cast<double>(whole.count) / 8; };
  // 2 bytes of weights, 4 of gradients, 12 of states a parameter (Megatron-LM with bf16).
  CHECK(static_cast<double>(all.gradients.count) == Approx(2.0 * static_cast<double>(all.parameters.count)));
  CHECK(static_cast<double>(all.optimizer.count) ==
        Approx(6.0 * static_cast<double>(all.parameters.count)).epsilon(1e-3));
  question.layout.zero = 1;
  CHECK(answer_of(question).ranks[0].memory.optimizer.count == Approx(eighth(all.optimizer)));
  question.layout.zero = 2;
  CHECK(answer_of(question).ranks[0].memory.gradients.count == Approx(eighth(all.gradients)));
  question.layout.zero = 3;
  CHECK(answer_of(question).ranks[0].memory.parameters.count == Approx(eighth(all.parameters)));
}

TEST_CASE("Sharing out more never needs more memory, and sends more") {
  ParallelQuestion question = gpt_on(16, 24);
  question.layout = {.data_ranks = 16, .micro_batch = 1, .global_batch = 64};
  double before = 1e300;
  for (const int zero : {0, 1, 3}) {
    question.layout.zero = zero;
    const ParallelAnswer answer = answer_of(question);
    CHECK(static_cast<double>(answer.peak().count) < before);
    before = static_cast<double>(answer.peak().count);
    CHECK((answer.ranks[0].seconds.shard_sends > 0) == (zero == 3));
  }
}

TEST_CASE("The first stage of 1F1B holds as many micro-batches as there are stages, the last one") {
  ParallelQuestion question = gpt_on(4);
  question.layout = {.stages = 4, .global_batch = 16};
  const ParallelAnswer answer = answer_of(question);
  const auto pieces = stage_pieces(question.spec, question.recipe, question.layout, question.choices, question.cluster);
  REQUIRE(pieces);
  // Two layers a stage: rank 1 holds 3 micro-batches of 2 blocks.
  const double expected = 3 * 2 * pieces->block.saved + pieces->block.working;
  CHECK(static_cast<double>(answer.ranks[1].memory.activations.count) == Approx(expected).epsilon(1e-6));
}

TEST_CASE("Recomputation keeps less and takes longer") {
  ParallelQuestion question = gpt_on(8);
  question.layout = {.tensor_ranks = 8, .micro_batch = 4, .global_batch = 16};
  const ParallelAnswer kept = answer_of(question);
  question.layout.recomputation = Recomputation::kFull;
  const ParallelAnswer again = answer_of(question);
  CHECK(again.ranks[0].memory.activations < kept.ranks[0].memory.activations);
  CHECK(again.step_seconds > kept.step_seconds);
  CHECK(again.hardware_flops > kept.hardware_flops);
  CHECK(again.model_flops == Approx(kept.model_flops));
}

TEST_CASE("Partitioned checkpoints keep a part of a block's input on each tensor rank, and gather it on the way back") {
  ParallelQuestion question = gpt_on(8);
  question.layout = {.tensor_ranks = 8, .micro_batch = 4, .global_batch = 16, .recomputation = Recomputation::kFull};
  const auto pieces_of = [&] {
    const auto pieces = stage_pieces(question.spec, question.recipe, question.layout, question.choices, question.cluster);
    REQUIRE(pieces);
    return pieces->block;
  };
  const PieceCost whole = pieces_of();
  const ParallelAnswer kept = answer_of(question);
  question.layout.partitions_checkpoints = true;
  const PieceCost parted = pieces_of();
  const ParallelAnswer gathered = answer_of(question);
  // 4 sequences of 1024 tokens, 1024 columns of 2 bytes: 8 MiB, of which 7 of 8 parts lie elsewhere until all of it is gathered.
  constexpr double kInput = 4.0 * 1024 * 1024 * 2;
  CHECK(whole.saved - parted.saved == Approx(kInput * 7 / 8));
  CHECK(parted.working - whole.working == Approx(kInput));
  CHECK(parted.backward_sends - whole.backward_sends ==
        Approx(seconds_of(Collective::kAllGather, kInput, tensor_group(question.layout, question.cluster), question.cluster)));
  // 8 blocks on one stage: 7 of 8 parts of each, but for the one that is gathered.
  const double saved = 8 * kInput * 7 / 8 - kInput;
  CHECK(static_cast<double>((kept.ranks[0].memory.activations - gathered.ranks[0].memory.activations).count) == Approx(saved));
  CHECK(gathered.step_seconds > kept.step_seconds);
}

TEST_CASE("Expert ranks share the experts, and exchange tokens") {
  ParallelQuestion question = gpt_on(8);
  question.spec = *resolve_model("mixtral-8x7b");
  question.layout = {.data_ranks = 8, .global_batch = 8};
  const ParallelAnswer alone = answer_of(question);
  question.layout.expert_ranks = 8;
  const ParallelAnswer shared = answer_of(question);
  // 32 blocks of 8 experts of 3 matrices of 4096 x 14336, in 2 bytes; seven eighths are elsewhere.
  const double elsewhere = 32.0 * 7 * 3 * 4096 * 14336 * 2;
  CHECK(static_cast<double>((alone.ranks[0].memory.parameters - shared.ranks[0].memory.parameters).count) ==
        Approx(elsewhere).epsilon(1e-3));
  CHECK(alone.ranks[0].seconds.expert_sends == 0);
  CHECK(shared.ranks[0].seconds.expert_sends > 0);
  question.choices.imbalance = 2;
  CHECK(answer_of(question).step_seconds > shared.step_seconds);
}

TEST_CASE("Collectives run beside the pieces of the products that take or make their rows, but for a rank's own piece") {
  ParallelQuestion question = gpt_on(8);
  question.layout = {.data_ranks = 4, .tensor_ranks = 2, .sequence_parallel = true, .micro_batch = 16, .global_batch = 64};
  const auto block = [&] { return stage_pieces(question.spec, question.recipe, question.layout, question.choices, question.cluster)->block; };
  const PieceCost whole = block();
  question.layout.cuts_products = true;
  const PieceCost pieces = block();
  const auto sent = [](const PieceCost& cost) { return cost.forward_sends + cost.backward_sends + cost.hidden_sends; };
  CHECK(sent(pieces) == Approx(sent(whole)));
  CHECK(pieces.forward_sends < 0.6 * whole.forward_sends);
  CHECK(pieces.backward_sends < whole.backward_sends);
  CHECK(pieces.forward == Approx(whole.forward));
  // One of two pieces of a product hides at most half of its seconds, and so does each of the forward pass's four.
  CHECK(whole.forward_sends - pieces.forward_sends <= 0.5 * whole.forward);
}

TEST_CASE("The fullest of ranks that experts are chosen on at random has a little more than the mean") {
  CHECK(chance_imbalance(1024, 2, 1) == 1);
  // 1 + sqrt(2 ln 8 / 2048) = 1 + sqrt(4.1589 / 2048) = 1.0451
  CHECK(chance_imbalance(1024, 2, 8) == Approx(1.0451).epsilon(1e-4));
}

TEST_CASE("Context ranks share the sequence: as much arithmetic, fewer activations on each") {
  ParallelQuestion question = gpt_on(4);
  question.layout = {.data_ranks = 4, .global_batch = 4};
  const ParallelAnswer batch = answer_of(question);
  for (const ContextKind kind : {ContextKind::kRing, ContextKind::kUlysses}) {
    question.layout = {.context_ranks = 4, .context = kind, .micro_batch = 4, .global_batch = 4};
    const ParallelAnswer context = answer_of(question);
    CHECK(context.model_flops == Approx(batch.model_flops).epsilon(1e-6));
    CHECK(context.ranks[0].seconds.tensor_sends > 0);
    CHECK(context.ranks[0].memory.activations.count ==
          Approx(static_cast<double>(batch.ranks[0].memory.activations.count))
              .epsilon(0.1));  // one copy more of several sequences
  }
}

}  // namespace plimsoll
