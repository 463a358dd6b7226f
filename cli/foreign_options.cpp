#include "cli/foreign_options.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "core/base/nearest_names.h"

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
                                {"lorar", "--lora RANK"},
                                {"lorarank", "--lora RANK"},
                                {"targetmodules", "--lora-targets"},
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
                                {"fsdp", "--stack pytorch --zero 3"},
                                {"torchcompile", "--compile with --stack pytorch"},
                                {"flashattention", "--attention flash with --stack pytorch"},
                                {"flashattention2", "--attention flash with --stack pytorch"}};

}  // namespace

std::string_view as_own_option(std::string_view option) {
  const std::string key = name_key(option);
  const auto* const found = std::ranges::find(kForeign, key, &Foreign::key);
  return found == std::end(kForeign) ? std::string_view{} : found->own;
}

}  // namespace plimsoll
