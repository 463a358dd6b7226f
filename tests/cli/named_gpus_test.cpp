// How many GPUs another program has: by number, and by degrees.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {

using nlohmann::json;

TEST_CASE("GPUs that are named are divided among tensor ranks and stages, and what is left of them shares the batch") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const auto told = [&](Arguments more) {
    more.insert(more.begin(), {"fit", "gpt2", "--stack", "megatron", "--json"});
    return plimsoll_in(folder, more);
  };
  // 16 GPUs = 2 tensor ranks x 2 stages x 4 that share the batch: the same as if --dp 4 had said so.
  const ChildEnd named = told({"--on", "16x A100 80GB SXM4", "--tp", "2", "--pp", "2"});
  CHECK(named.code == 0);
  CHECK(json::parse(named.out)["strategy"]["setup"] == "megatron modules, layers shared by 2 GPUs, layers in 2 pipeline stages, 4 data-parallel replicas, fused optimizer");
  const ChildEnd by_degrees = told({"--on", "A100 80GB SXM4", "--tp", "2", "--pp", "2", "--dp", "4"});
  CHECK(named.out == by_degrees.out);
  // ZeRO shares states over sequence ranks too: 16 = 2 x 2 x 4, two of which share sequences.
  const ChildEnd sequences = told({"--on", "16x A100 80GB SXM4", "--tp", "2", "--pp", "2", "--cp", "2", "--zero", "1"});
  CHECK_THAT(sequences.out, Contains("sequences shared by 2 GPUs, ZeRO-1 over 4 GPUs"));
  CHECK_THAT(plimsoll_in(folder, {"plan", "gpt2", "--stack", "megatron", "--on", "4x A100 80GB SXM4", "--tp", "2", "-o", "p.json"}).out,
             Contains("on 4 x A100 80GB SXM4: FITS"));
  CHECK_THAT(plimsoll_in(folder, {"simulate", "p.json"}).out, Contains("on 4 x A100 80GB SXM4: FITS\n  stack   megatron: as planned, 2 data ranks, tp 2\n"));
  const ChildEnd proved = plimsoll_in(folder, {"validate", "p.json"});
  CHECK(proved.code == 2);
  CHECK_THAT(proved.err, Contains("p.json: the plan is of megatron, 2 data ranks, tp 2, which allocates while it runs"));
  CHECK_THAT(plimsoll_in(folder, {"fit", "gpt2", "--stack", "llm.c", "--on", "A100 80GB SXM4"}).out, Contains("stack   llm.c: layers of its own\n"));
  // All of them share layers: none is left for the batch.
  CHECK(told({"--on", "4x A100 80GB SXM4", "--tp", "4"}).out == told({"--on", "A100 80GB SXM4", "--tp", "4"}).out);
  const ChildEnd odd = told({"--on", "16x A100 80GB SXM4", "--tp", "3"});
  CHECK(odd.code == 2);
  CHECK_THAT(odd.err, Contains("--gpus: 16 GPUs do not divide by tp 3 x pp 1 x cp 1"));
  const ChildEnd other = told({"--on", "16x A100 80GB SXM4", "--dp", "3"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Contains("--gpus: dp 3 x tp 1 x pp 1 x cp 1 are 3 GPUs, not 16") && Contains("take --dp 16"));
}

TEST_CASE("what is said of gradients that GPUs share goes with --gpus as with --dp") {
  const TemporaryFolder folder;
  for (const Arguments& said : {Arguments{"--whole-gradients", "no"}, Arguments{"--autocast", "no"}}) {
    Arguments line{"fit", "gpt2", "--stack", "pytorch", "--zero", "3", "--json", "--on"};
    line.insert(line.end(), said.begin(), said.end());
    Arguments by_number = line, by_degree = line;
    by_number.insert(by_number.begin() + 8, "8x A100 80GB SXM4");
    by_degree.insert(by_degree.begin() + 8, {"A100 80GB SXM4", "--dp", "8"});
    const ChildEnd number = plimsoll_in(folder, by_number);
    CHECK(number.code == 0);
    CHECK(number.out == plimsoll_in(folder, by_degree).out);
  }
}

TEST_CASE("a DeepSpeed file whose batch is of other data ranks than were named is refused, as DeepSpeed does") {
  const TemporaryFolder folder;
  write_file(folder.file("ds.json"), R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})");
  const auto fit = [&](const char* gpus) {
    return plimsoll_in(folder, {"fit", "gpt2", "--stack", "deepspeed", "--strategy", "ds.json", "--on", gpus});
  };
  CHECK_THAT(fit("8x A100 80GB SXM4").out, Catch::Contains("on 8 x A100 80GB SXM4: FITS"));
  CHECK_THAT(fit("A100 80GB SXM4").out, Catch::Contains("on 8 x A100 80GB SXM4: FITS"));  // the file says how many
  const ChildEnd four = fit("4x A100 80GB SXM4");
  CHECK(four.code == 2);
  CHECK_THAT(four.err, Catch::Contains("ds.json: it is of 8 data ranks, and 4 were named"));
}

}  // namespace plimsoll::test
