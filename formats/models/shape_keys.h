#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/model_spec.h"

namespace plimsoll {

// What each word of a shape in words sets, and which families there are.

struct SizeKey {
  std::string_view name;
  std::int64_t ModelSpec::* field;
};

inline constexpr SizeKey kSizeKeys[] = {
    {"layers", &ModelSpec::layers},     {"hidden", &ModelSpec::hidden},     {"heads", &ModelSpec::heads},
    {"vocab", &ModelSpec::vocabulary},  {"ffn", &ModelSpec::ffn},           {"kv_heads", &ModelSpec::kv_heads},
    {"head_dim", &ModelSpec::head_dim}, {"positions", &ModelSpec::max_positions},
    {"window", &ModelSpec::window},     {"rotary_dim", &ModelSpec::rotary_dim},
    {"classes", &ModelSpec::classes},   {"mask", &ModelSpec::mask_token},   {"types", &ModelSpec::token_types},
    {"embedding_width", &ModelSpec::embedding_width}, {"position_offset", &ModelSpec::position_offset},
    {"full_every", &ModelSpec::full_every},
    {"memory", &ModelSpec::memory},
    {"decoder_layers", &ModelSpec::decoder_layers},   {"relative_buckets", &ModelSpec::relative_buckets},
};

struct ImageKey {
  std::string_view name;
  std::int64_t ImageInput::* field;
};

inline constexpr ImageKey kImageKeys[] = {
    {"image", &ImageInput::size}, {"patch", &ImageInput::patch}, {"channels", &ImageInput::channels}};

struct LatentKey {
  std::string_view name;
  std::int64_t LatentAttention::* field;
};

inline constexpr LatentKey kLatentKeys[] = {{"q_rank", &LatentAttention::q_rank},       {"kv_rank", &LatentAttention::kv_rank},
                                            {"plain_dim", &LatentAttention::plain_dim}, {"rope_dim", &LatentAttention::rope_dim},
                                            {"value_dim", &LatentAttention::value_dim}};

struct RopeKey {
  std::string_view name;
  double RopeScaling::* field;
};

inline constexpr RopeKey kRopeKeys[] = {{"rope_factor", &RopeScaling::factor},
                                        {"rope_low", &RopeScaling::low_frequency},
                                        {"rope_high", &RopeScaling::high_frequency},
                                        {"rope_original", &RopeScaling::original_positions}};

struct ExpertSizeKey {
  std::string_view name;
  std::int64_t ExpertSpec::* field;
};

inline constexpr ExpertSizeKey kExpertSizeKeys[] = {{"experts", &ExpertSpec::count},      {"top-k", &ExpertSpec::per_token},
                                                    {"every", &ExpertSpec::every},        {"expert_ffn", &ExpertSpec::width},
                                                    {"groups", &ExpertSpec::groups},
                                                    {"dense_first", &ExpertSpec::dense_first},
                                                    {"shared_ffn", &ExpertSpec::shared_width}};

struct ExpertFlagKey {
  std::string_view name;
  bool ExpertSpec::* field;
};

inline constexpr ExpertFlagKey kExpertFlagKeys[] = {{"plain_gates", &ExpertSpec::plain_gates},
                                                    {"sigmoid_scores", &ExpertSpec::sigmoid_scores},
                                                    {"shared_gate", &ExpertSpec::shared_gate},
                                                    {"router_bias", &ExpertSpec::router_bias}};

struct ExpertRealKey {
  std::string_view name;
  double ExpertSpec::* field;
};

inline constexpr ExpertRealKey kExpertRealKeys[] = {{"capacity", &ExpertSpec::capacity},
                                                    {"router_loss", &ExpertSpec::balance},
                                                    {"load_loss", &ExpertSpec::load},
                                                    {"expert_dropout", &ExpertSpec::dropout}};

struct FamilyWord {
  std::string_view word;
  Family family;
};

inline constexpr FamilyWord kFamilies[] = {{"gpt", Family::kGpt2},     {"llama", Family::kLlama}, {"mistral", Family::kMistral},
                                           {"qwen2", Family::kQwen2}, {"qwen3", Family::kQwen3}, {"gemma", Family::kGemma},
                                           {"phi", Family::kPhi},     {"mixtral", Family::kMixtral}, {"bert", Family::kBert},
                                           {"vit", Family::kVit},     {"opt", Family::kOpt},     {"bloom", Family::kBloom},
                                           {"neox", Family::kGptNeoX}, {"gptj", Family::kGptJ},  {"falcon", Family::kFalcon},
                                           {"mpt", Family::kMpt},     {"palm", Family::kPalm},   {"stablelm", Family::kStableLm},
                                           {"phi3", Family::kPhi3},   {"qwen", Family::kQwen},   {"t5", Family::kT5},
                                           {"gemma2", Family::kGemma2}, {"gemma3", Family::kGemma3}, {"olmo", Family::kOlmo},
                                           {"olmo2", Family::kOlmo2}, {"olmoe", Family::kOlmoe}, {"qwen2_moe", Family::kQwen2Moe},
                                           {"gpt_oss", Family::kGptOss}, {"deepseek", Family::kDeepSeek},
                                           {"gpt_bigcode", Family::kGptBigCode}, {"cohere", Family::kCohere},
                                           {"llama4", Family::kLlama4}, {"transformer-xl", Family::kTransfoXl}};

}  // namespace plimsoll
