#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {

TEST_CASE("every command explains itself with an example and ends with 0") {
  const TemporaryFolder folder;
  for (const char* command : {"fit", "plan", "simulate", "run", "calibrate", "compare", "show", "validate", "report", "export",
                              "schedule", "sweep", "machines", "models", "doctor"}) {
    const ChildEnd end = plimsoll_in(folder, {command, "--help"});
    INFO(command);
    CHECK(end.code == 0);
    CHECK_THAT(end.out, Catch::Contains(std::string("Example: plimsoll ") + command));
    CHECK(end.err.empty());
  }
  const ChildEnd whole = plimsoll_in(folder, {"--help"});
  CHECK(whole.code == 0);
  CHECK_THAT(whole.out, Catch::Contains("Exit codes: 0 done, 2 usage or bad input, 3 does not fit"));
}

namespace {

/// Lines that cannot be read, each with a part of what is said of it.
void answers(const std::vector<std::pair<Arguments, const char*>>& wrong) {
  const TemporaryFolder folder;
  for (const auto& [line, said] : wrong) {
    const ChildEnd end = plimsoll_in(folder, line);
    CHECK(end.code == 2);
    CHECK(end.out.empty());
    CHECK_THAT(end.err, Catch::Contains(said));
  }
}

}  // namespace

TEST_CASE("a line that cannot be read is answered with its command, its option and how to ask for help") {
  answers({{{}, "plimsoll: no command is named\n  plimsoll --help lists the commands\n"},
           {{"fti", "gpt2"}, "plimsoll: no command is called 'fti'\n  did you mean fit"},
           {{"fit", "gpt2", "--bach", "3"}, "plimsoll: plimsoll fit: --bach is none of its options\n  did you mean --batch"},
           {{"fit", "gpt2", "--bach=3"}, "--bach is none of its options"},
           {{"fit", "gpt2", "xl"},
            "plimsoll: plimsoll fit: 'xl' is one argument too many\n  put a name of several words in quotes"},
           {{"fit", "gpt2", "--batch", "many"}, "--batch"},
           {{"fit", "gpt2", "--on", "2x8 T4"}, "--on: 2 nodes of 8 GPUs are --on \"16x T4\" --nodes 2"},
           {{"fit", "gpt2", "--on", "2x 8x T4"}, "--on: 2 nodes of 8 GPUs are --on \"16x T4\" --nodes 2"},
           {{"simulate", "gpt2"}, "plimsoll: 'gpt2' is a model, and without --on a plan is simulated\n  name a GPU for it with --on"},
           {{"run", "gpt2", "--data", "text.txt", "--out", "run"}, "--out is none of its options\n  did you mean --output"},
           {{"recompute", "gpt2", "--on", "T4", "--budget", "3"}, "--budget: '3' is 3 bytes\n  write its unit: 3GiB, 3MiB"},
           {{"fit", "gpt2", "--on", "2x T4", "--gpus", "3"}, "--gpus: 3 contradicts --on, which names 2 x T4"},
           {{"fit", "gpt2", "--on", "2x T4", "--workload", "dpo"}, "--gpus would be ignored by --workload dpo"},
           {{"fit", "gpt2", "--on", "T4", "--workload", "inference", "--base-bits", "4"},
            "plimsoll: --base-bits would be ignored by --workload inference\n  store weights in fewer bits with --weight-bits\n"},
           {{"fit", "gpt2", "--lora"}, "plimsoll fit: --lora came without its value\n  it says: "},
           {{"machines", "--max-length", "4"}, "--max-length is none of its options\n  plimsoll machines --help"},  // which has no --seq
           {{"fit", "gpt2", "--on", "T4", "--ram", "32"}, "--ram: '32' is 32 bytes\n  write its unit: 32GiB, 32MiB"},
           {{"fit", "gpt2", "--batch", "4.5"}, "--batch: '4.5' is no whole number\n"},
           {{"fit", "gpt2", "--clip", "much"}, "--clip: 'much' is no number\n"},
           {{"fit", "gpt2", "--ram", "16GiB", "--ram", "32GiB"}, "--ram was given more than once\n"},
           {{"fit", "gpt2", "--on", "T4", "--paged-states"}, "--paged-states says how another program trains"},
           {{"plan", "gpt2", "--on", "T4", "--gpus", "2"}, "a plan of plimsoll's own is for one GPU\n  leave it out, or say which program"},
           {{"curve", "gpt2", "--on", "2x T4", "--tokens", "1B"}, "a plan of plimsoll's own is for one GPU\n"},
           {{"fit"}, "plimsoll: plimsoll fit: MODEL is required\n  plimsoll fit --help lists its options\n"}});
}

TEST_CASE("a name that is none of a model or a GPU is answered with what was meant, or why there is none") {
  answers({{{"models", "nothing-like-it"}, "there is no model of the name 'nothing-like-it'\n  plimsoll models lists those that are known; "},
           {{"fit", "openai/whisper-large-v3"}, "it seems to be a model of speech, which is not simulated\n"},
           {{"fit", "sdxl", "--on", "T4"}, "it seems to be a model that makes pictures: fit answers for sd1.5-unet and dit-xl/2"},
           {{"plan", "sd1.5-unet", "--on", "T4"}, "there is no model of the name 'sd1.5-unet'\n  it seems to be a model that makes pictures"},
           {{"fit", "lama3-8b", "--on", "T4"}, "did you mean llama3-8b"},
           {{"machines", "nothing-like-it"}, "no GPU is called 'nothing-like-it'\n  plimsoll machines lists them"},
           {{"tokenize", "text.txt", "--tokenizer", "gpt2", "-o", "t.bin"}, "gpt2: no such file\n  a tokenizer.json of Hugging Face's"},
           {{"fit", "deepseek-v2-lite", "--on", "8x T4"}, "for which no layout has sizes\n  say --stack megatron, or --stack pytorch --zero 3\n"},
           {{"fit", "gpt2", "--on", "T4", "--workload", "finetune"}, "no workload is called 'finetune'\n  leave it out to train on texts, or choose"},
           {{"fit", "gpt2", "--on", "T4", "--workload", "infrence"}, "did you mean inference"},
           {{"fit", "mixtral", "--on", "T4"}, "did you mean mixtral-8x7b, mixtral-8x22b"},
           {{"fit", "qwen3", "--on", "T4"}, "did you mean qwen3-"},
           {{"curve", "--family", "gtp2", "--on", "T4", "--tokens", "1B"}, "did you mean gpt2, gpt3"},
           {{"fit", "gpt2", "--on", "RTX"}, "RTX 2080 Ti, Titan RTX, RTX 3050 8GB and "},
           {{"machines", "4090", "--on", "T4", "-o", "t4.json"}, "'4090' would be ignored: it chooses from the list of GPUs"},
           {{"fit", ""}, "no model was named\n  name one of plimsoll models"},
           {{"fit", "gpt2", "--on", ""}, "--on: no GPU was named; leave it out, or say --on this, for this computer\n"}});
}

TEST_CASE("a word of another program is answered with the option that says the same here") {
  answers({{{"fit", "gpt2", "--qlora"}, "--qlora is none of its options\n  that is --lora 16 --base-bits 4 here. "},
           {{"fit", "gpt2", "--per_device_train_batch_size", "4"}, "that is --batch here. "},
           {{"fit", "gpt2", "--load-in-4bit"}, "that is --base-bits 4 beside --lora here. "},
           {{"fit", "gpt2", "--on", "T4", "--optimizer", "adamw8bit"}, "unknown optimizer 'adamw8bit'\n  here that is --optimizer adam8bit"},
           {{"fit", "gpt2", "--on", "T4", "--zero_stage", "3"}, "that is --zero here. "},
           {{"fit", "gpt2", "--on", "T4", "--n-gpu-layers", "20"}, "that is --percent (of weights, cache and activations"},
           {{"fit", "gpt2", "--on", "T4", "--stack", "FSDP"}, "'FSDP' is no software stack\n  here that is --stack pytorch --zero 3\n"},
           {{"fit", "gpt2", "--on", "T4", "--stack", "unsloth"}, "here that is --stack pytorch --modules unsloth\n"},
           {{"fit", "gpt2", "--on", "T4", "--stack", "pytroch"}, "'pytroch' is no software stack\n  did you mean pytorch"},
           {{"export", "gpt2", "--on", "T4", "--to", "fsdp"}, "here that is --to fsdp2, or accelerate-fsdp\n"},
           {{"export", "gpt2", "--on", "T4", "--to", "deepsped"}, "did you mean deepspeed"},
           {{"fit", "gpt2", "--lora-target-modules", "q_proj"}, "that is --lora 16:q,v here. "},
           {{"fit", "gpt2", "--on", "T4", "--optimizer", "adamw_torch_fused"}, "unknown optimizer 'adamw_torch_fused'\n  here that is --optimizer adamw"},
           {{"fit", "gpt2", "--on", "T4", "--optimizer", "paged_adamw_8bit"}, "here that is --optimizer adam8bit --paged-states, with --stack pytorch\n"},
           {{"fit", "gpt2", "--on", "T4", "--optimizer", "galore:128"}, "here that is --optimizer adamw --projection galore:RANK"},
           {{"fit", "gpt2", "--on", "T4", "--optimizer", "galore_adamw_8bit_layerwise"}, "adam8bit --projection galore:RANK --update-in-backward"},
           {{"fit", "gpt2", "--on", "T4", "--optimizer", "adamw_torch_4bit"}, "here that is --optimizer adamw --state-bits 4"},
           {{"fit", "gpt2", "--on", "T4", "--optimizer", "lomo"}, "here that is --optimizer sgd --update-in-backward"},
           {{"fit", "gpt2", "--on", "T4", "--precision", "fp16"}, "unknown precision 'fp16'\n  here that is --precision fp16-mixed\n"}});
}

TEST_CASE("a part of a name chooses from the lists of models and GPUs") {
  const TemporaryFolder folder;
  const auto lines = [&](Arguments line) {
    const ChildEnd end = plimsoll_in(folder, std::move(line));
    CHECK(end.code == 0);
    return end.out;
  };
  const std::string models = lines({"models", "Qwen3", "--csv"});
  CHECK_THAT(models, Catch::Contains("qwen3-4b,4022468096") && !Catch::Contains("gpt2"));
  CHECK(!Catch::Contains("qwen2.5-32b").match(models));  // whose other name qwen-32b has the letters too
  CHECK_THAT(lines({"models", "unsloth/gemma-2-9b-bnb-4bit"}), Catch::Contains("\ngemma-2-9b "));
  CHECK_THAT(lines({"models", "allenai", "--json"}), Catch::Contains("\"olmo-3-7b\"") && !Catch::Contains("\"qwen"));
  const std::string boards = lines({"machines", "rtx2060"});
  CHECK_THAT(boards, Catch::Contains("RTX 2060 6GB") && Catch::Contains("RTX 2060 12GB") && !Catch::Contains("RTX 3060"));
  CHECK_THAT(lines({"machines", "NVIDIA GeForce RTX 4090", "--csv"}), Catch::Contains("\nRTX 4090,"));
}

TEST_CASE("a number before a GPU's name is --gpus, and sizes may end with a letter") {
  const TemporaryFolder folder;
  const auto asked = [&](Arguments machine) {
    Arguments line{"fit", "gpt2", "--stack", "pytorch", "--json"};
    line.insert(line.end(), machine.begin(), machine.end());
    const ChildEnd end = plimsoll_in(folder, line);
    CHECK(end.code == 0);
    return end.out;
  };
  const std::string four = asked({"--on", "RTX 3090", "--gpus", "4", "--ram", "64GB"});
  for (const char* name : {"4x RTX 3090", "4×RTX 3090", "4 x RTX 3090", "4xRTX 3090", "4* RTX 3090"}) {
    CHECK(asked({"--on", name, "--ram", "64G"}) == four);
  }
  CHECK(asked({"--on", "4x RTX 3090", "--gpus", "4", "--ram", "64gb"}) == four);
  const ChildEnd size = plimsoll_in(folder, {"recompute", "gpt2", "--on", "T4", "--budget", "many"});
  CHECK(size.code == 2);
  CHECK_THAT(size.err, Catch::Contains("--budget: 'many' is not a size"));
  const ChildEnd ram = plimsoll_in(folder, {"recompute", "gpt2", "--on", "T4", "--budget", "1GiB", "--ram", "64G"});
  CHECK(ram.code == 2);
  CHECK_THAT(ram.err, Catch::Contains("--ram says nothing of a chain"));
}

TEST_CASE("what reads images is told in images, AMD's boards have no CUDA, and other makers' chips are named") {
  const TemporaryFolder folder;
  const ChildEnd images = plimsoll_in(folder, {"fit", "vit-b-16", "--on", "MI300X", "--batch", "32"});
  CHECK(images.code == 0);
  CHECK_THAT(images.out, Catch::Contains("1 x 32 images") && Catch::Contains("images/s"));
  CHECK(images.out.find("tokens") == std::string::npos);
  CHECK(images.out.find("CUDA") == std::string::npos);
  CHECK_THAT(plimsoll_in(folder, {"fit", "resnet50", "--on", "T4"}).out, Catch::Contains("images/s"));
  for (const char* name : {"M2 Max", "Arc A770", "Jetson AGX Orin 64GB", "GB10", "DGX Spark", "TPU v5e", "Gaudi3"}) {
    INFO(name);
    const ChildEnd end = plimsoll_in(folder, {"fit", "gpt2", "--on", name});
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Catch::Contains(std::string("'") + name + "' is "));
    CHECK(end.err.find("did you mean") == std::string::npos);
  }
}

TEST_CASE("a plan that is made, validated, simulated, run and compared agrees with itself") {
  const TemporaryFolder folder;
  CHECK(
      plimsoll_in(folder, {"plan", kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB", "-o", "plan.json"}).code ==
      0);
  CHECK(plimsoll_in(folder, {"validate", "plan.json"}).code == 0);
  CHECK(plimsoll_in(folder, {"validate", "plan.json", "--json"}).out.find("\"valid\":true") != std::string::npos);
  CHECK(plimsoll_in(folder, {"simulate", "plan.json"}).code == 0);
  const ChildEnd run = plimsoll_in(folder, {"run", "plan.json", "--data", kText, "--steps", "6", "--device-memory",
                                            "16MiB", "--ram", "64MiB", "-o", "run.plimsoll"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(plimsoll_in(folder, {"compare", "run.plimsoll"}).code == 0);
  CHECK(plimsoll_in(folder, {"simulate", "plan.json", "--calibration", "run.plimsoll"}).code == 0);
  REQUIRE(plimsoll_in(folder, {"export", "run.plimsoll", "--plan", "same.json", "--chrome", "trace.json"}).code == 0);
  CHECK(read_whole(folder.file("same.json")) == read_whole(folder.file("plan.json")));
  const ChildEnd twice = plimsoll_in(folder, {"export", "run.plimsoll", "--chrome", "one.json", "--plan", "one.json"});
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Catch::Contains("one.json: two files would have this name"));
  // Two runs stand beside each other, of one plan or of two, and their losses are told.
  const Arguments again{"run", "same.json", "--data", kText, "--steps", "6", "--device-memory", "16MiB", "--ram", "64MiB", "-o", "again.plimsoll"};
  REQUIRE(plimsoll_in(folder, again).code == 0);
  const ChildEnd both = plimsoll_in(folder, {"compare", "run.plimsoll", "again.plimsoll"});
  CHECK(both.code == 0);
  CHECK_THAT(both.out, Catch::Contains("the other      this run of the step") && !Catch::Contains("predicted") && !Catch::Contains("error"));
  CHECK_THAT(both.out, Catch::Contains("losses: the same bits in all 6 steps") && !Catch::Contains("more than the plan"));
  REQUIRE(plimsoll_in(folder, {"run", kTinyModel, "--data", kText, "--steps", "4", "--matmul", "onednn", "--strategy", "recompute", "-o", "third.plimsoll"}).code == 0);
  const ChildEnd apart = plimsoll_in(folder, {"compare", "run.plimsoll", "third.plimsoll"});
  CHECK(apart.code == 0);
  CHECK_THAT(apart.out, Catch::Contains("the other  third.plimsoll, 'recompute': ") && Catch::Contains("this run   run.plimsoll, '"));
  CHECK_THAT(apart.out, Catch::Contains("losses: the same bits in all 4 steps"));
  CHECK_THAT(plimsoll_in(folder, {"compare", "run.plimsoll", "third.plimsoll", "--json"}).out, Catch::Contains("\"same_bits\": true"));
  REQUIRE(plimsoll_in(folder, {"run", kTinyModel, "--data", kText, "--steps", "4", "--matmul", "onednn", "--seed", "2", "--clip", "0.5", "-o", "seed.plimsoll"}).code == 0);
  const ChildEnd seeds = plimsoll_in(folder, {"compare", "third.plimsoll", "seed.plimsoll"});
  CHECK_THAT(seeds.out, Catch::Contains("they differ in more than the plan: clipping (0.5 and 1), seed (2 and 1)\n"));
  REQUIRE(plimsoll_in(folder, {"run", kTinyModel, "--data", kText, "--steps", "4", "--matmul", "openblas", "-o", "blas.plimsoll"}).code == 0);
  CHECK_THAT(plimsoll_in(folder, {"compare", "third.plimsoll", "blas.plimsoll"}).out,
             Catch::Contains("they differ in more than the plan: library of matrix products (openblas and onednn)\n"));
  CHECK_THAT(seeds.out, Catch::Contains("losses: apart from step 1 on"));
}

TEST_CASE("two runs differ by shares of the other, in the table, in JSON and for the threshold; a prediction stands in a run's place") {
  const TemporaryFolder folder;
  const std::string runs = std::string(PLIMSOLL_MEASURED) + "/h100-sxm5/";
  const std::string ours = runs + "gpt2-medium-2.5gib-auto.plimsoll", theirs = runs + "gpt2-medium-2.5gib-zero-offload.plimsoll";
  CHECK_THAT(plimsoll_in(folder, {"compare", ours, theirs}).out, Catch::Contains("79.74 ms     -30.9 %"));  // of 115.47
  CHECK(plimsoll_in(folder, {"compare", ours, theirs, "--threshold", "31"}).code == 0);
  CHECK(plimsoll_in(folder, {"compare", ours, theirs, "--threshold", "30"}).code == 3);
  const nlohmann::json step = nlohmann::json::parse(plimsoll_in(folder, {"compare", ours, theirs, "--json"}).out)["step"];
  CHECK(step["error"].get<double>() == Approx(-0.3094).epsilon(1e-3));
  CHECK(step["other_untraced_seconds"].get<double>() == Approx(0.10910).epsilon(1e-3));
  CHECK_THAT(plimsoll_in(folder, {"compare", ours, runs + "again/gpt2-medium-2.5gib-auto.plimsoll"}).out, !Catch::Contains("10.936691 and 10.936691"));

  const Arguments plain{"run", kTinyModel, "--data", kText, "--steps", "4", "--matmul", "onednn", "--strategy", "recompute", "-o", "run.plimsoll", "--save", "tuned"};
  REQUIRE(plimsoll_in(folder, plain).code == 0);
  const ChildEnd boards = plimsoll_in(folder, {"compare", "run.plimsoll", ours});
  CHECK_THAT(boards.out, Catch::Contains("board (H100 SXM5 80GB and CPU)") && Catch::Contains("model ("));
  REQUIRE(plimsoll_in(folder, {"run", kTinyModel, "--data", kText, "--steps", "4", "--matmul", "onednn", "--init", "tuned", "-o", "init.plimsoll"}).code == 0);
  CHECK_THAT(plimsoll_in(folder, {"compare", "run.plimsoll", "init.plimsoll"}).out, Catch::Contains("more than the plan: --init (tuned and none)\n"));
  REQUIRE(plimsoll_in(folder, {"plan", kTinyModel, "--strategy", "resident", "--timeline", "other.plimsoll", "-o", "other.json"}).code == 0);
  const ChildEnd other = plimsoll_in(folder, {"compare", "run.plimsoll", "other.plimsoll"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Catch::Contains("other.plimsoll: it foretells another plan than run.plimsoll ran"));
  const ChildEnd turned = plimsoll_in(folder, {"compare", "other.plimsoll", "run.plimsoll"});
  CHECK(turned.code == 2);
  CHECK_THAT(turned.err, Catch::Contains("name the run first, then the prediction"));
}

TEST_CASE("run says each thing that it assumes once, and nothing at all when it is to be quiet") {
  const TemporaryFolder folder;
  const ChildEnd talks = plimsoll_in(folder, tiny_run("3"));
  REQUIRE(talks.code == 0);
  const std::string note = "precision fp32: ";
  REQUIRE_THAT(talks.err, Catch::Contains(note));
  CHECK(talks.err.find(note, talks.err.find(note) + 1) == std::string::npos);
  CHECK_THAT(talks.out, Catch::Contains("together"));
  CHECK_THAT(talks.err, !Catch::Contains("is read as it stands"));
  write_file(folder.file("texts.jsonl"), R"({"text": ")" + std::string(200, 'a') + "\"}\n");
  const ChildEnd raw = plimsoll_in(folder, {"run", kTinyModel, "--data", "texts.jsonl", "--steps", "2", "-o", "raw.plimsoll"});
  CHECK(raw.code == 0);
  CHECK_THAT(raw.err, Catch::Contains("texts.jsonl is read as it stands, a byte a token; plimsoll tokenize makes tokens"));
  const ChildEnd quiet = plimsoll_in(folder, tiny_run("3", {"--quiet", "--force"}));
  CHECK(quiet.code == 0);
  CHECK(quiet.err.empty());
}

TEST_CASE("a threshold that is missed and a model that does not fit end with 3") {
  const TemporaryFolder folder;
  CHECK(plimsoll_in(folder, {"fit", "gpt2-xl", "--on", "RTX 2060 6GB", "--strategy", "resident"}).code == 3);
  CHECK(
      plimsoll_in(folder, {"plan", kTinyModel, "--device-memory", "1KiB", "--ram", "64MiB", "-o", "none.json"}).code ==
      3);
  CHECK(files_in(folder).empty());
  REQUIRE(plimsoll_in(folder, tiny_run("5")).code == 0);
  CHECK(plimsoll_in(folder, {"compare", "run.plimsoll", "--threshold", "0"}).code == 3);
}

TEST_CASE("an answer that cannot be written ends with 4") {
  const TemporaryFolder folder;
  const ChildEnd end =
      run_child({"/bin/sh", "-c", std::string(PLIMSOLL_PROGRAM) + " models > /dev/full"}, folder.path());
  CHECK(end.code == 4);
  CHECK_THAT(end.err, Catch::Contains("standard output"));
}

}  // namespace plimsoll::test
