#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "formats/models/hf_encoder_tensors.h"
#include "formats/models/hf_t5_tensors.h"
#include "formats/models/hf_tensors.h"

namespace plimsoll {
namespace {

/// A model saved without its head has none of these before its tensors' names.
constexpr std::string_view kPrefixes[] = {"transformer.", "model.", "bert.", "vit."};

/// Buffers that are no parameters: causal masks and rotary frequencies, which old versions stored.
bool is_buffer(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") || name.ends_with(".rotary_emb.inv_freq");
}

/// What files from TensorFlow call a norm's weight and bias.
std::string old_name(std::string name) {
  for (const auto& [now, before] :
       {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, std::pair{"LayerNorm.bias", "LayerNorm.beta"}}) {
    if (name.ends_with(now)) return name.replace(name.rfind(now), std::string::npos, before);
  }
  return name;
}

bool is_float(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kBf16 || type == StoredType::kF16;
}

tl::unexpected<Error> bad(std::string_view where, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::string(where), .remedy = std::move(remedy)});
}

Result<SafetensorsTensor> find_stored(const HfTensor& wanted, const SafetensorsHeader& header, std::string_view where) {
  const SafetensorsTensor* stored = find_hf_tensor(wanted, header);
  if (stored == nullptr) {
    return bad(where, fmt::format("the tensor '{}' of shape [{}] is missing", wanted.name, fmt::join(wanted.shape, ", ")));
  }
  if (stored->shape != wanted.shape) {
    return bad(where, fmt::format("tensor '{}' has shape [{}], but the model needs [{}]", stored->name,
                                  fmt::join(stored->shape, ", "), fmt::join(wanted.shape, ", ")));
  }
  if (!is_float(stored->type)) {
    return bad(where, fmt::format("tensor '{}' holds {}; expected F32, BF16 or F16", stored->name, to_text(stored->type)),
               "quantized and fp64 weights are not read; save the model in one of these types");
  }
  return *stored;
}

}  // namespace

const SafetensorsTensor* find_hf_tensor(const HfTensor& wanted, const SafetensorsHeader& header) {
  const SafetensorsTensor* stored = header.find(wanted.name);
  for (const std::string_view prefix : kPrefixes) {
    if (stored == nullptr && wanted.name.starts_with(prefix)) {
      stored = header.find(std::string_view(wanted.name).substr(prefix.size()));
    }
  }
  return stored != nullptr ? stored : header.find(old_name(wanted.name));
}

Result<std::vector<SafetensorsTensor>> match_hf_tensors(const std::vector<HfTensor>& wanted, const SafetensorsHeader& header,
                                                        std::string_view where) {
  std::vector<SafetensorsTensor> found;
  std::set<std::string, std::less<>> known = {"lm_head.weight"};  // a tied head is stored by some writers
  for (const HfTensor& tensor : wanted) {
    auto stored = find_stored(tensor, header, where);
    if (!stored) return fail(stored.error());
    known.insert(stored->name);
    found.push_back(std::move(*stored));
  }
  for (const SafetensorsTensor& tensor : header.tensors) {
    if (known.contains(tensor.name) || is_buffer(tensor.name)) continue;
    if (is_spare_of_encoder(tensor.name) || is_spare_of_t5(tensor.name)) continue;
    return bad(where, fmt::format("the model has no place for tensor '{}'", tensor.name));
  }
  return found;
}

}  // namespace plimsoll
