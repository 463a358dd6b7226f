#include "formats/models/unread_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <span>

namespace plimsoll {
namespace {

constexpr std::string_view kStateSpace = "a state-space model: no attention";
constexpr std::string_view kMixedStateSpace = "a model of state-space and attention layers";
constexpr std::string_view kRecurrent = "a recurrent model: no attention over all tokens before";
constexpr std::string_view kSegments = "Transformer-XL in transformers' code, which is not NVIDIA's (transformer-xl-base and -large are the zoo's)";
constexpr std::string_view kTower = "a model with a vision tower";
constexpr std::string_view kSpeech = "a model of speech";
constexpr std::string_view kPictures = "a model that makes pictures: fit answers for sd1.5-unet and dit-xl/2, and no other command for any";
constexpr std::string_view kProteins = "a model of proteins: fit answers for their trunk, evoformer, and no other command for any";
constexpr std::string_view kTranslator = "an encoder with a decoder that is no T5";
constexpr std::string_view kSparse = "a model whose attention leaves tokens out by a pattern of its own";
constexpr std::string_view kLatent = "a model with latent attention";
constexpr std::string_view kMoreNorms = "a model with norms behind attention and feed-forward layers as well";
constexpr std::string_view kSharedExperts = "a mixture with an expert that all tokens pass through";
constexpr std::string_view kScaledExperts = "a mixture whose scores, sums and logits have constant factors";

struct Unread {
  std::string_view model_type;
  std::string_view what;
};

constexpr Unread kUnread[] = {
    {"mamba", kStateSpace}, {"mamba2", kStateSpace}, {"falcon_mamba", kStateSpace},
    {"jamba", kMixedStateSpace}, {"zamba", kMixedStateSpace}, {"zamba2", kMixedStateSpace}, {"bamba", kMixedStateSpace},
    {"nemotron_h", kMixedStateSpace}, {"falcon_h1", kMixedStateSpace}, {"granitemoehybrid", kMixedStateSpace},
    {"qwen3_next", kMixedStateSpace}, {"rwkv", kRecurrent}, {"recurrent_gemma", kRecurrent}, {"xlstm", kRecurrent},
    {"transfo-xl", kSegments}, {"clip", kTower}, {"siglip", kTower}, {"llava", kTower}, {"llava_next", kTower}, {"mllama", kTower}, {"paligemma", kTower},
    {"qwen2_vl", kTower}, {"qwen2_5_vl", kTower}, {"qwen3_vl", kTower}, {"idefics3", kTower}, {"internvl", kTower},
    {"blip", kTower}, {"blip-2", kTower}, {"phi4_multimodal", kTower}, {"pixtral", kTower},
    {"whisper", kSpeech}, {"wav2vec2", kSpeech}, {"hubert", kSpeech}, {"speech_to_text", kSpeech}, {"seamless_m4t", kSpeech},
    {"bart", kTranslator}, {"mbart", kTranslator}, {"marian", kTranslator}, {"pegasus", kTranslator}, {"m2m_100", kTranslator},
    {"blenderbot", kTranslator}, {"led", kTranslator}, {"prophetnet", kTranslator},
    {"longformer", kSparse}, {"big_bird", kSparse}, {"reformer", kSparse}, {"gpt_neo", kSparse},
    {"minicpm3", kLatent},
    {"gemma3n", kMoreNorms}, {"glm4", kMoreNorms},
    {"granitemoeshared", kSharedExperts},
    {"granitemoe", kScaledExperts},
};

/// Families that have no model_type.
constexpr Unread kUnreadNames[] = {
    {"stable-diffusion", kPictures}, {"sdxl", kPictures}, {"sd3", kPictures}, {"sd1", kPictures}, {"sd2", kPictures},
    {"flux", kPictures}, {"dit", kPictures}, {"pixart", kPictures}, {"kandinsky", kPictures}, {"evoformer", kProteins},
    {"alphafold", kProteins}, {"openfold", kProteins}, {"fastfold", kProteins}, {"esmfold", kProteins},
};

/// Whether a name is this family's: what follows, if anything, is a number or a new word.
bool begins_with(std::string_view name, std::string_view family) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b || (a == '-' && b == '_'); };
  if (name.size() < family.size() || !std::equal(family.begin(), family.end(), name.begin(), [&](char f, char n) { return same(n, f); })) return false;
  return name.size() == family.size() || std::isalpha(static_cast<unsigned char>(name[family.size()])) == 0;
}

const Unread* longest_beginning(std::span<const Unread> families, std::string_view name) {
  const Unread* longest = nullptr;
  for (const Unread& family : families) {
    const bool longer = longest == nullptr || family.model_type.size() > longest->model_type.size();
    if (longer && begins_with(name, family.model_type)) longest = &family;
  }
  return longest;
}

}  // namespace

std::string_view unread_family(std::string_view model_type) {
  const auto* const found = std::ranges::find(kUnread, model_type, &Unread::model_type);
  return found == std::end(kUnread) ? std::string_view{} : found->what;
}

std::string unread_by_name(std::string_view name) {
  const std::string_view own = name.substr(name.rfind('/') + 1);  // all of it where there is no owner
  if (const Unread* family = longest_beginning(kUnread, own)) return fmt::format("it seems to be {}, which is not simulated", family->what);
  const Unread* family = longest_beginning(kUnreadNames, own);
  if (family == nullptr) family = longest_beginning(kUnreadNames, name);  // dit-xl/2 has no owner
  return family == nullptr ? std::string() : fmt::format("it seems to be {}", family->what);
}

}  // namespace plimsoll
