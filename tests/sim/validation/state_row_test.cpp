#include <catch2/catch.hpp>

#include "core/model/parameters.h"
#include "formats/published/published_rows.h"
#include "sim/validation/state_row.h"

using namespace plimsoll;

namespace {

const RowLexicon& lexicon() {
  static const auto lexicon = shipped_lexicon();
  REQUIRE(lexicon);
  return *lexicon;
}

StatedRow state(const std::string& header, const std::string& line) {
  const auto rows = read_published_rows(header + "\n" + line + "\n", "mine.csv");
  REQUIRE(rows);
  return state_row(rows->front(), lexicon());
}

StatedRow memory(const std::string& line) {
  return state(
      "system,model,params,layers,hidden,heads,kv_heads,ffn,vocab,seq,micro_batch,precision,optimizer,checkpointing,zero_stage,"
      "offload,n_gpu,gpu,metric,value,unit,source,flag,notes",
      line);
}

StatedRow throughput(const std::string& line) {
  return state(
      "system,model,params_b,layers,hidden,heads,seq,global_batch,micro_batch,n_gpu,gpu,precision,checkpointing,sharding,metric,"
      "value,unit,source",
      line);
}

StatedRow offload(const std::string& line) {
  return state("system,model,params_b,layers,hidden,heads,seq,batch,gpu,gpu_mem_gb,cpu_mem_gb,ssd,pcie,metric,value,unit,source", line);
}

bool says(const std::vector<std::string>& texts, std::string_view beginning) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return text.starts_with(beginning); });
}

}  // namespace

TEST_CASE("the shape that a row's columns say has the parameters that its source prints") {
  const auto row = memory(
      "llm-foundry/Composer FSDP,MPT-70b,64862437376,80,8192,64,64,32768,50368,2048,8,amp_bf16 (fp32 master),decoupled_adamw,"
      "full,3,none,256,H100_80GB,fits,80,GB capacity,x,,MP mode DEFAULT; flash attention; grad_accum 1");
  REQUIRE(row.statement);
  CHECK(parameter_count(row.statement->spec) == 64862437376);
  CHECK(row.statement->setup.data_ranks == 256);
  CHECK(row.statement->setup.zero == 3);
  CHECK(row.statement->setup.recomputation == Recomputation::kFull);
  CHECK(row.statement->setup.attention == AttentionKernel::kFlash);
  CHECK(row.statement->recipe.precision == Precision::kBf16Mixed);
  CHECK(row.statement->gpu.name == "H100 SXM5 80GB");
  CHECK(row.statement->measure == Measure::kFits);
  CHECK(row.statement->published == 1);
  CHECK(row.is_fully_specified());
}

TEST_CASE("a published name means a model of the zoo, units and ranks are those of the columns") {
  const auto row = memory(
      "torchtitan,Llama 3.1 8B,,32,4096,32,8,14336,128256,8192,2,\"bf16 (fp32 params, FSDP mp bf16)\",AdamW fused,"
      "selective (per-op SAC default),3,none,8,H100-80GB,peak_reserved,82.4,GiB,x,,FSDP2 + torch.compile; max_reserved");
  REQUIRE(row.statement);
  CHECK(row.statement->spec.rope_theta == 500000);
  CHECK(row.statement->published == Approx(82.4 * 1073741824.0));
  CHECK(row.statement->setup.compile);
  CHECK(row.statement->setup.modules == ModuleStyle::kTorchTune);
  CHECK(row.statement->setup.loop == OptimizerLoop::kFused);
  CHECK(row.family == "torchtitan");
}

TEST_CASE("trainings beside one another count as one rate, and a source's own configuration goes before a row's sequence") {
  const auto row = throughput(
      "Lambda v1 (NVIDIA DLE),Transformer-XL large,0.285,18,1024,16,384,96,48,2,H100 80GB PCIe Gen5,fp16 AMP,none,DDP,"
      "train throughput (total),45010,tokens/s,x");
  REQUIRE(row.statement);
  CHECK(row.statement->recipe.sequence == 256);
  CHECK(row.statement->setup.data_ranks == 1);
  CHECK(row.statement->copies == 2);
  CHECK(row.statement->published == Approx(2 * 48 * 256 / 45010.0));
  CHECK(row.statement->spec.memory == 256);
  CHECK_FALSE(row.statement->spec.adaptive.exists());
}

TEST_CASE("a failed run is a verdict without a number") {
  const auto row = memory(
      "HF run_mlm,bert-large-uncased,,24,1024,16,16,4096,30522,512,66,bf16 AMP,AdamW,none,0,none,1,RTX3090Ti-24GB,oom,,,x,,"
      "grad_accum 4");
  REQUIRE(row.statement);
  CHECK(row.statement->published == 0);
  CHECK(row.statement->recipe.accumulate == 4);
  CHECK(row.statement->recipe.micro_batch == 66);
}

TEST_CASE("what a row does not say is open, never silently guessed") {
  const auto row = memory(
      "HF Trainer,bert-large-uncased,,24,1024,16,16,4096,30522,512,4,fp32,,,0,none,,V100-16GB,nvidia_smi,14949,MiB,x,,");
  REQUIRE(row.statement);
  CHECK(says(row.open, "optimizer"));
  CHECK(says(row.open, "checkpointing"));
  CHECK(says(row.open, "number of GPUs"));
  CHECK_FALSE(row.is_fully_specified());
}

TEST_CASE("a row that cannot be stated says why by name") {
  const std::string tail = ",1,V100-16GB,peak_allocated,1,GiB,x,,";
  CHECK(says(memory("HF Trainer,no such model,,,,,,,,512,4,fp32,AdamW,none,0,none" + tail).refusals, "unknown model"));
  CHECK(says(memory("My stack,gpt2,,,,,,,,512,4,fp32,AdamW,none,0,none" + tail).refusals, "unknown system"));
  CHECK(says(memory("HF Trainer,gpt2,,,,,,,,512,,fp32,AdamW,none,0,none" + tail).refusals, "micro-batch not stated"));
  CHECK(says(memory("HF Trainer,gpt2,,,,,,,,512,4,fp31,AdamW,none,0,none" + tail).refusals, "unknown precision"));
  CHECK(says(memory("HF Trainer,gpt2,,,,,,,,512,4,fp32,Sophia,none,0,none" + tail).refusals, "unknown optimizer"));
  CHECK(says(memory("HF Trainer,gpt2,,,,,,,,512,4,fp32,AdamW,sometimes,0,none" + tail).refusals, "unknown checkpointing"));
  CHECK(says(memory("HF Trainer,gpt2,,12 # or 13,,,,,,512,4,fp32,AdamW,none,0,none" + tail).refusals, "unreadable column"));
  CHECK(says(memory("HF Trainer,gpt2,,,100,12,,,,512,4,fp32,AdamW,none,0,none" + tail).refusals, "contradictory shape"));
  CHECK(says(memory("HF Trainer,gpt2,,,,,,,,5120,4,fp32,AdamW,none,0,none" + tail).refusals, "contradictory recipe"));
  CHECK(says(memory("HF Trainer,gpt2,,,,,,,,512,4,fp32,AdamW,none,0,none,1,Voodoo 2,peak_allocated,1,GiB,x,,").refusals,
             "unknown GPU"));
  CHECK(says(memory("TensorFlow 1.11,gpt2,,,,,,,,512,4,fp32,AdamW,none,0,none" + tail).refusals, "stack not modelled"));
  CHECK(says(memory("HF Trainer,gpt2,,,,,,,,512,4,fp32,AdamW,none,0,none,1,V100-16GB,peak_allocated,1,Zoll,x,,").refusals,
             "unknown unit"));
}

TEST_CASE("rates become seconds of one optimizer step by the convention of their source") {
  const std::string head = "llm-foundry,MPT-125m,0.125,12,768,12,2048,64,4,8,a100_40gb,amp_bf16,full,FULL_SHARD/DEFAULT,";
  // 64 · 2048 tokens on 8 GPUs at 1000 tokens/s/GPU: 16.384 s.
  const auto tokens = throughput(head + "throughput,1000,tokens/s/GPU,x");
  REQUIRE(tokens.statement);
  CHECK(tokens.statement->published == Approx(16.384));
  CHECK(tokens.statement->recipe.accumulate == 2);
  // 6·0.125e9 + 12·12·768·2048 = 9.765e8 FLOP a token; 16384 tokens a GPU at 40 % of 312 TFLOP/s.
  const auto share = throughput(head + "MFU,40,%,x");
  REQUIRE(share.statement);
  const double flops = 6 * 0.125e9 + 12.0 * 12 * 768 * 2048;
  CHECK(share.statement->published == Approx(16384 * flops / (0.4 * 312e12)));
  // With checkpoints the hardware's count is 4/3 of it.
  const auto hardware = throughput(head + "HFU,40,%,x");
  REQUIRE(hardware.statement);
  CHECK(hardware.statement->published == Approx(16384 * flops * 4 / 3 / (0.4 * 312e12)));
}

TEST_CASE("times of several nodes are counted apart, on the network that the source names, else on the usual one and left open") {
  const std::string head = "llm-foundry,MPT-125m,0.125,12,768,12,2048,256,4,64,a100_40gb,amp_bf16,full,FULL_SHARD/DEFAULT,throughput,1000,"
                           "tokens/s/GPU,";
  const auto said = throughput(head + "tables [A100 40GB with 1600 Gbps node-node interconnect (RoCE)]");
  REQUIRE(said.statement);
  CHECK(said.statement->measure == Measure::kClusterStep);
  CHECK(said.statement->setup.network == "8x200Gb/s");
  CHECK_FALSE(says(said.open, "network between nodes"));
  // 256 · 2048 tokens on 64 GPUs at 1000 tokens/s/GPU: 8.192 s.
  CHECK(said.statement->published == Approx(8.192));
  const auto unsaid = throughput(head + "x");
  REQUIRE(unsaid.statement);
  CHECK(says(unsaid.open, "network between nodes"));
}

TEST_CASE("a source's own nodes decide how many there are") {
  const auto row = throughput(
      "BigScience V100 (Megatron),GPT 1.3B,1.3,24,2048,16,2048,64,4,8,V100 32GB SXM,fp16,full,\"DP=8,TP=1,PP=1,ZeRO-0\",iteration time,1,s,x");
  REQUIRE(row.statement);
  CHECK(row.statement->setup.nodes == 2);
  CHECK(row.statement->measure == Measure::kClusterStep);
}

TEST_CASE("products in MXFP8 leave what bf16 leaves where a program keeps what it read, and are refused everywhere else") {
  const std::string head = "Llama3-8b,8.03B,32,4096,32,8,14336,128256,8192,1,mxfp8_cublas_rceil,AdamW fused,per-op SAC,3,none,8,B200,";
  const auto kept = memory("torchtitan," + head + "peak_reserved,47.46,GB,pytorch/ao docs/source,,FSDP2 + torch.compile");
  REQUIRE(kept.statement);
  CHECK(kept.statement->recipe.precision == Precision::kBf16Mixed);
  CHECK(says(kept.open, "copies in 8 bits"));
  CHECK(says(memory("HF Trainer," + head + "peak_reserved,47.46,GB,x,,").refusals, "precision not modelled"));
  CHECK(says(memory("torchtitan," + head + "nvidia_smi,47.46,GB,x,,").refusals, "precision not modelled"));
}

TEST_CASE("a source that tells the best of several batches is stated sequence by sequence, one that tells a largest size in parameters") {
  const std::string shape = ",2,40,2048,16,1024,best over batch sizes,";
  const auto best = offload("PatrickStar,GPT 2B" + shape + "4x V100-SXM2-32GB,32,240,,,total_throughput,200,TFLOPS,x");
  REQUIRE(best.statement);
  CHECK(best.statement->best_batch);
  CHECK(best.statement->setup.data_ranks == 4);
  // 1024 tokens on each of four GPUs, 200 TFLOP/s together; the source counts the model that it builds, BERT with two classes, not its name.
  const auto counted = static_cast<double>(parameter_count(best.statement->spec));
  CHECK(counted == Approx(12 * 40 * 2048.0 * 2048).epsilon(0.05));
  CHECK_FALSE(best.statement->spec.causal);
  CHECK(best.statement->setup.manager == ChunkManager::kPatrickStar);
  CHECK(best.statement->published == Approx(8 * counted * 4 * 1024 / 200e12));
  CHECK(says(best.open, "which micro-batch was best"));
  const auto largest = offload("ZeRO-2,GPT-2,,,,,,,1x V100-SXM3-32GB (DGX-2),32,1500,,,max_model_size,1.4,B params,x");
  REQUIRE(largest.statement);
  CHECK(largest.statement->measure == Measure::kLargest);
  CHECK(largest.statement->published == Approx(1.4e9));
  CHECK_FALSE(offload("PatrickStar,GPT,,,,,,,8x V100-32GB,32,240,,,max_model_size,17,B params,x").statement);
}

TEST_CASE("adapters have the rank and the matrices that the source says, their base its bits") {
  const auto row = memory(
      "LitGPT QLoRA nf4,llama-2-7b,,32,4096,32,32,11008,32000,512,2,bf16-true + nf4 base,AdamW,none,0,none,1,A10G-24GB,"
      "peak_allocated,13.68,GB,x,,r=16 targets=query+value; GB=1e9");
  REQUIRE(row.statement);
  CHECK(row.statement->recipe.adapter.rank == 16);
  CHECK(row.statement->recipe.adapter.targets == std::vector{AdapterTarget::kQuery, AdapterTarget::kValue});
  CHECK(row.statement->recipe.adapter.base == BaseStorage::kNf4);
  CHECK(row.statement->published == 13.68e9);
}
