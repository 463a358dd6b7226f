#include "formats/exporters/torch_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll {
namespace {

/// Names as transformers 5 has them.
constexpr std::array<std::pair<Family, TorchBlocks>, 18> kFamilies{{
    {Family::kGpt2, {"GPT2Block", "transformer.h", 1, 1, true}},
    {Family::kLlama, {"LlamaDecoderLayer", "model.layers", 3, 2, false}},
    {Family::kMistral, {"MistralDecoderLayer", "model.layers", 3, 2, false}},
    {Family::kQwen2, {"Qwen2DecoderLayer", "model.layers", 3, 2, false}},
    {Family::kQwen3, {"Qwen3DecoderLayer", "model.layers", 3, 2, false}},
    {Family::kGemma, {"GemmaDecoderLayer", "model.layers", 3, 2, false}},
    {Family::kPhi, {"PhiDecoderLayer", "model.layers", 3, 1, true}},
    {Family::kPhi3, {"Phi3DecoderLayer", "model.layers", 1, 1, false}},
    {Family::kMixtral, {"MixtralDecoderLayer", "model.layers", 3, 1, false}},
    {Family::kBert, {"BertLayer", "bert.encoder.layer", 3, 1, true}},
    {Family::kVit, {"ViTLayer", "vit.encoder.layer", 3, 1, true}},
    {Family::kOpt, {"OPTDecoderLayer", "model.decoder.layers", 3, 1, true}},
    {Family::kBloom, {"BloomBlock", "transformer.h", 1, 1, true}},
    {Family::kGptNeoX, {"GPTNeoXLayer", "gpt_neox.layers", 1, 1, true}},
    {Family::kGptJ, {"GPTJBlock", "transformer.h", 3, 1, true}},
    {Family::kFalcon, {"FalconDecoderLayer", "transformer.h", 1, 1, true}},
    {Family::kMpt, {"MptBlock", "transformer.blocks", 1, 1, true}},
    {Family::kStableLm, {"StableLmDecoderLayer", "model.layers", 3, 2, true}},
}};

}  // namespace

const TorchBlocks* torch_blocks(const ModelSpec& spec) {
  if (spec.is_conv_net() || spec.has_encoder_and_decoder()) return nullptr;
  const auto found =
      std::find_if(kFamilies.begin(), kFamilies.end(), [&](const auto& entry) { return entry.first == spec.family; });
  return found == kFamilies.end() ? nullptr : &found->second;
}

std::string block_name(const TorchBlocks& blocks, std::int64_t block) {
  return fmt::format("{}.{}", blocks.list, block);
}

}  // namespace plimsoll
