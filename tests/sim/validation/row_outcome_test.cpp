#include <catch2/catch.hpp>

#include "formats/machines/gpu_catalogue.h"
#include "formats/models/resolve_model.h"
#include "formats/published/published_rows.h"
#include "sim/stack/predict_stack.h"
#include "sim/validation/row_outcome.h"
#include "sim/validation/row_statistics.h"
#include "sim/validation/state_row.h"

using namespace plimsoll;

namespace {

const std::string kHeader =
    "system,model,params,layers,hidden,heads,kv_heads,ffn,vocab,seq,micro_batch,precision,optimizer,checkpointing,zero_stage,"
    "offload,n_gpu,gpu,metric,value,unit,source,flag,notes\n";

std::string mpt(const std::string& micro_batch, const std::string& metric, const std::string& value, const std::string& unit) {
  return "llm-foundry/Composer FSDP,MPT-125m,,12,768,12,12,3072,50368,2048," + micro_batch +
         ",amp_bf16 (fp32 master),decoupled_adamw,none,3,none,8,A100_40GB," + metric + "," + value + "," + unit +
         ",here,,grad_accum 2\n";
}

struct Judged {
  std::vector<PublishedRow> rows;
  std::vector<RowOutcome> outcomes;
  int calls = 0;
};

/// A predictor that says 1 GiB allocated, reserves 2 GiB, fits, and counts how often it was asked.
void judge(Judged& judged, const std::string& lines) {
  const auto rows = read_published_rows(kHeader + lines, "mine.csv");
  const auto lexicon = shipped_lexicon();
  REQUIRE(rows);
  REQUIRE(lexicon);
  judged.rows = *rows;
  std::vector<StatedRow> stated;
  for (const PublishedRow& row : judged.rows) stated.push_back(state_row(row, *lexicon));
  judged.outcomes = judge_rows(judged.rows, stated, [&](const auto&, const Recipe& recipe, const auto&, const auto&) {
    ++judged.calls;
    if (recipe.micro_batch > 32) return Result<StackPrediction>(fail({.what = "too large"}));
    StackPrediction prediction;
    prediction.peak.allocated = kGiB;
    prediction.peak.reserved = 2 * kGiB;
    prediction.fits = true;
    return Result<StackPrediction>(prediction);
  });
}

}  // namespace

TEST_CASE("rows that share a prediction are predicted once") {
  Judged judged;
  judge(judged, mpt("8", "peak_allocated", "2", "GiB") + mpt("8", "peak_reserved", "1", "GiB") +
                    mpt("8", "fits", "40", "GB capacity") + mpt("16", "peak_allocated", "1", "GiB"));
  CHECK(judged.calls == 2);
  CHECK(*judged.outcomes[0].error() == Approx(-0.5));
  CHECK(*judged.outcomes[1].error() == Approx(1.0));
  CHECK(judged.outcomes[2].predicted == 1.0);
  CHECK_FALSE(judged.outcomes[2].error());
  CHECK(*judged.outcomes[3].error() == Approx(0.0));
}

TEST_CASE("a row that is not predicted says why, also where only its number is missing") {
  Judged judged;
  judge(judged, mpt("64", "peak_allocated", "2", "GiB") + mpt("8", "nvidia_smi", "2", "GiB") + mpt("8", "cpu_rss", "x", "GiB"));
  CHECK(judged.outcomes[0].stated.refusals == std::vector<std::string>{"not predicted: too large"});
  CHECK(judged.outcomes[1].stated.refusals == std::vector<std::string>{"not predicted: process"});
  CHECK(judged.outcomes[2].stated.refusals == std::vector<std::string>{"unreadable value: x"});
  const auto reasons = count_reasons(judged.outcomes);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0] == std::pair<std::string, std::int64_t>("not predicted", 2));
}

TEST_CASE("a step that is read off its first micro-batches takes what the whole one is told to take") {
  const GpuEntry gpu = find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4").value();
  const ModelSpec spec = resolve_model("gpt:layers=8,hidden=1024,heads=16,vocab=50304,positions=1024").value();
  const auto setup_of = [](Stack stack, std::int64_t data, std::int64_t stages, int zero) {
    StackSetup setup{.stack = stack, .modules = stages > 1 ? ModuleStyle::kMegatron : ModuleStyle::kHuggingFace};
    setup.data_ranks = data;
    setup.stages = stages;
    setup.zero = zero;
    return setup;
  };
  StackSetup whole = setup_of(Stack::kPytorch, 16, 1, 3);
  whole.whole_gradients = true;
  const StackSetup setups[] = {setup_of(Stack::kMegatron, 16, 4, 1), setup_of(Stack::kDeepspeed, 16, 2, 1), setup_of(Stack::kDeepspeed, 16, 1, 2), setup_of(Stack::kPytorch, 16, 1, 0), whole};
  for (const StackSetup& setup : setups) {
    CAPTURE(describe(setup), setup.stages);
    const Recipe recipe{.precision = Precision::kFp16Mixed, .accumulate = 24, .sequence = 1024};
    const StackTime brief = predict_stack(spec, folded(recipe, setup), setup, gpu).value().time;
    // The first micro-batch writes gradients to which the others add: of two it is half, of 24 hardly any.
    CHECK(whole_step_seconds(brief, recipe, setup) == Approx(predict_stack(spec, recipe, setup, gpu).value().time.step).epsilon(0.025));
  }
}
