#include "cli/options/foreign_options.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "core/base/nearest_names.h"
#include "formats/trainers/optimizer_names.h"

namespace plimsoll {
namespace {

struct Foreign {
  std::string_view key;  ///< as name_key has it
  std::string_view own;
};

constexpr Foreign kForeign[] = {{"qlora", "--lora 16 --base-bits 4"},
                                {"loadin4bit", "--base-bits 4 beside --lora"},
                                {"loadin8bit", "--base-bits 8 beside --lora"},
                                {"preparemodelforkbittraining", "--kbit-preparation yes"},
                                {"preparekbit", "--kbit-preparation yes"},
                                {"autocastadapterdtype", "--narrow-adapters where it is false"},
                                {"lorar", "--lora RANK"},
                                {"lorarank", "--lora RANK"},
                                {"targetmodules", "--lora 16:q,v"},
                                {"loratargets", "--lora 16:q,v"},
                                {"loratargetmodules", "--lora 16:q,v"},
                                {"usedora", "--dora beside --lora"},
                                {"modulestosave", "--train-also embed,head beside --lora"},
                                {"additionaltarget", "--train-also embed,head beside --lora"},
                                {"userslora", "--lora-alpha, the one that is told times the rank's root"},
                                {"pefttype", "--peft METHOD"},
                                {"ia3", "--peft ia3"},
                                {"vera", "--peft vera:256"},
                                {"adalora", "--peft adalora:16"},
                                {"loha", "--peft loha:8"},
                                {"lokr", "--peft lokr:8"},
                                {"lntuning", "--peft norms"},
                                {"prompttuning", "--peft prompt:20"},
                                {"numvirtualtokens", "--peft prompt:20"},
                                {"batchsize", "--batch"},
                                {"microbatchsize", "--batch"},
                                {"perdevicetrainbatchsize", "--batch"},
                                {"gradientaccumulation", "--accumulate"},
                                {"gradientaccumulationsteps", "--accumulate"},
                                {"gradaccum", "--accumulate"},
                                {"gradientcheckpointing", "--recompute full with --stack pytorch; plans of plimsoll's own choose it"},
                                {"activationcheckpointing", "--recompute full with --stack pytorch; plans of plimsoll's own choose it"},
                                {"context", "--seq"},
                                {"contextlength", "--seq"},
                                {"seqlen", "--seq"},
                                {"seqlength", "--seq"},
                                {"maxlength", "--seq"},
                                {"maxseqlength", "--seq"},
                                {"maxseqlen", "--seq"},
                                {"maxsourcelength", "--seq"},
                                {"maxtargetlength", "--target-seq"},
                                {"neatpacking", "--packing beside --lengths"},
                                {"samplepacking", "--packing beside --lengths"},
                                {"precomputereflogprobs", "--reference precomputed, with --workload dpo"},
                                {"refmodel", "--reference copy, with --workload dpo"},
                                {"losstype", "--fused-head with --stack pytorch (TRL's nll in 1.16)"},
                                {"useligerkernel", "--liger"},
                                {"useliger", "--liger"},
                                {"enableligerkernel", "--liger"},
                                {"bf16", "--precision bf16-mixed"},
                                {"fp16", "--precision fp16-mixed"},
                                {"fp32", "--precision fp32"},
                                {"tf32", "--precision tf32"},
                                {"dtype", "--precision"},
                                {"optim", "--optimizer"},
                                {"learningrate", "--lr"},
                                {"maxgradnorm", "--clip"},
                                {"maxsteps", "--steps"},
                                {"gpu", "--on"},
                                {"device", "--on"},
                                {"numgpus", "--gpus"},
                                {"nprocpernode", "--gpus"},
                                {"vram", "--device-memory"},
                                {"gpumemory", "--device-memory"},
                                {"memory", "--ram for the host, --device-memory for the GPU"},
                                {"cpumemory", "--ram"},
                                {"nvme", "--ssd"},
                                {"disk", "--ssd"},
                                {"deepspeed", "--stack deepspeed"},
                                {"gradreduceinfp32", "--reduce-in fp32, or bf16"},
                                {"accumulateallreducegradsinfp32", "--reduce-in fp32"},
                                {"nnodes", "--nodes"},
                                {"numnodes", "--nodes"},
                                {"zerostage", "--zero"},
                                {"offloadoptimizer", "--offload optimizer:cpu, or optimizer:ssd"},
                                {"offloadparam", "--offload params:cpu, or params:ssd"},
                                {"cpuoffload", "--offload params:cpu,optimizer:cpu"},
                                {"tensormodelparallelsize", "--tp"},
                                {"tensorparallelsize", "--tp"},
                                {"pipelinemodelparallelsize", "--pp"},
                                {"pipelineparallelsize", "--pp"},
                                {"contextparallelsize", "--cp"},
                                {"expertmodelparallelsize", "--ep"},
                                {"experttensorparallelsize", "--etp"},
                                {"moetokendispatchertype", "--expert-dispatch"},
                                {"moegroupedgemm", "--grouped-experts yes"},
                                {"dataparallelsize", "--dp"},
                                {"worldsize", "--gpus"},
                                {"globalbatchsize", "--global-batch"},
                                {"trainbatchsize", "--global-batch"},
                                {"usedistributedoptimizer", "--zero 1"},
                                {"recomputegranularity", "--recompute selective, or full"},
                                {"recomputeactivations", "--recompute selective"},
                                {"useflashattn", "--attention flash"},
                                {"numtrainepochs", "--epochs"},
                                {"maxnewtokens", "--new-tokens"},
                                {"npredict", "--new-tokens"},
                                {"ctxsize", "--seq"},
                                {"maxmodellen", "--seq"},
                                {"ngl", "--percent (of weights, cache and activations on the GPU and in host memory, for --workload inference)"},
                                {"gpulayers", "--percent (of weights, cache and activations on the GPU and in host memory, for --workload inference)"},
                                {"ngpulayers", "--percent (of weights, cache and activations on the GPU and in host memory, for --workload inference)"},
                                {"kvcachedtype", "--cache-bits"},
                                {"quantization", "--weight-bits of --workload inference, --base-bits beside --lora"},
                                {"alpha", "--lora-alpha"},
                                {"fsdp", "--stack pytorch --zero 3"},
                                {"torchcompile", "--compile with --stack pytorch"},
                                {"flashattention", "--attention flash with --stack pytorch"},
                                {"flashattention2", "--attention flash with --stack pytorch"}};

/// A value of an option, as name_key has it.
struct ForeignValue {
  std::string_view option;
  std::string_view key;
  std::string_view own;
};

constexpr ForeignValue kValues[] = {{"--stack", "fsdp", "--stack pytorch --zero 3"},
                                    {"--stack", "fsdp2", "--stack pytorch --zero 3"},
                                    {"--stack", "ddp", "--stack pytorch --gpus N"},
                                    {"--stack", "zero1", "--stack deepspeed --zero 1"},
                                    {"--stack", "zero2", "--stack deepspeed --zero 2"},
                                    {"--stack", "zero3", "--stack deepspeed --zero 3"},
                                    {"--stack", "torch", "--stack pytorch"},
                                    {"--stack", "hf", "--stack pytorch"},
                                    {"--stack", "huggingface", "--stack pytorch"},
                                    {"--stack", "transformers", "--stack pytorch"},
                                    {"--stack", "accelerate", "--stack pytorch"},
                                    {"--stack", "trl", "--stack pytorch, with --fused-head for its SFT trainer"},
                                    {"--stack", "axolotl", "--stack pytorch"},
                                    {"--stack", "llamafactory", "--stack pytorch"},
                                    {"--stack", "torchtitan", "--stack pytorch --modules torchtune --zero 3"},
                                    {"--stack", "lightning", "--stack pytorch"},
                                    {"--stack", "torchtune", "--stack pytorch --modules torchtune"},
                                    {"--stack", "nanogpt", "--stack pytorch --modules nanogpt"},
                                    {"--stack", "litgpt", "--stack pytorch --modules litgpt"},
                                    {"--stack", "megatronlm", "--stack megatron"},
                                    {"--stack", "nemo", "--stack megatron"},
                                    {"--stack", "llmc", "--stack llm.c"},
                                    {"--stack", "unsloth", "--stack pytorch --modules unsloth"},
                                    {"--stack", "huggingfacetrainer", "--stack pytorch"},
                                    {"--stack", "trainer", "--stack pytorch"},
                                    {"--stack", "vllm", "--workload inference"},
                                    {"--stack", "llamacpp", "--workload inference"},
                                    {"--stack", "flexgen", "--workload inference"},
                                    {"--attention", "flashattention2", "--attention flash"},
                                    {"--attention", "flashattn", "--attention flash"},
                                    {"--attention", "fa2", "--attention flash"},
                                    {"--attention", "memefficient", "--attention efficient"},
                                    {"--attention", "xformers", "--attention efficient"},
                                    {"--precision", "fp8", "--precision bf16-mixed --fp8 delayed, or current, under --stack pytorch or megatron"},
                                    {"--to", "pytorch", "--to fsdp2, which shards, or torch-checkpoint, which recomputes"},
                                    {"--to", "torch", "--to fsdp2, which shards, or torch-checkpoint, which recomputes"},
                                    {"--to", "fsdp", "--to fsdp2, or accelerate-fsdp"},
                                    {"--to", "hf", "--to accelerate"},
                                    {"--to", "huggingface", "--to accelerate"},
                                    {"--to", "transformers", "--to accelerate"},
                                    {"--to", "trainer", "--to accelerate"},
                                    {"--to", "trl", "--to accelerate"},
                                    {"--to", "axolotl", "--to accelerate"},
                                    {"--to", "llamafactory", "--to accelerate"},
                                    {"--to", "zero", "--to deepspeed"},
                                    {"--to", "megatronlm", "--to megatron"},
                                    {"--to", "nemo", "--to megatron"},
                                    {"--to", "colossalai", "--to gemini"},
                                    {"--optimizer", "cpuadam", "--optimizer adamw; --strategy zero-offload updates on the CPU"},
                                    {"--optimizer", "deepspeedcpuadam", "--optimizer adamw; --strategy zero-offload updates on the CPU"},
                                    {"--precision", "fp16", "--precision fp16-mixed"},
                                    {"--precision", "float16", "--precision fp16-mixed"},
                                    {"--precision", "half", "--precision fp16-mixed"},
                                    {"--precision", "amp", "--precision fp16-mixed, or bf16-mixed"},
                                    {"--precision", "mixed", "--precision fp16-mixed, or bf16-mixed"},
                                    {"--precision", "bfloat16", "--precision bf16-mixed, or bf16 with no fp32 weights"},
                                    {"--precision", "float32", "--precision fp32"},
                                    {"--precision", "int8", "--base-bits 8 beside --lora"},
                                    {"--precision", "int4", "--base-bits 4 beside --lora"},
                                    {"--precision", "nf4", "--base-bits 4 beside --lora"}};

/// Other options than --optimizer itself are those of another stack.
std::string optimizer_words(std::string_view options) {
  const bool alone = options.find(" --") == std::string_view::npos;
  return std::string(options) + (alone ? "" : ", with --stack pytorch");
}

}  // namespace

std::string_view as_own_option(std::string_view option) {
  const std::string key = name_key(option);
  const auto* const found = std::ranges::find(kForeign, key, &Foreign::key);
  return found == std::end(kForeign) ? std::string_view{} : found->own;
}

std::string as_own_value(std::string_view option, std::string_view value) {
  const std::string key = name_key(value.substr(0, value.find(':')));  // "galore:1024" is asked for too
  if (const std::string_view own = optimizer_options(key); option == "--optimizer" && !own.empty()) return optimizer_words(own);
  const auto* const found = std::ranges::find_if(kValues, [&](const ForeignValue& one) { return one.option == option && one.key == key; });
  return found == std::end(kValues) ? std::string() : std::string(found->own);
}

Error with_own_value(Error error, std::string_view option, std::string_view value) {
  if (const std::string own = as_own_value(option, value); !own.empty()) error.remedy = "here that is " + own;
  return error;
}

}  // namespace plimsoll
