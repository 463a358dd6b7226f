#include "sim/answers/scaled_question.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

Error cannot_grow(const Question& question, std::string_view how) {
  return {
      .kind = ErrorKind::kInput,
      .what = fmt::format("{} cannot be grown by its {}", question.spec.name, how),
      .where = "--what",
      .remedy = "take a decoder or encoder in words, gpt:layers=24,hidden=2048,heads=16,vocab=50257, or --what batch"};
}

/// A decoder, an encoder or both, dense: what has one size of each kind.
bool is_plain(const ModelSpec& spec) { return !spec.is_conv_net() && spec.experts.count == 0; }

/// Two stacks grow in step.
void deepen(ModelSpec& spec, std::int64_t layers) {
  if (spec.has_encoder_and_decoder())
    spec.decoder_layers = std::max<std::int64_t>(1, spec.decoder_layers * layers / spec.layers);
  spec.layers = layers;
}

void widen(ModelSpec& spec, std::int64_t heads) {
  const std::int64_t hidden = heads * spec.head_dim;
  spec.ffn = std::max<std::int64_t>(1, spec.ffn * hidden / spec.hidden);
  spec.kv_heads = spec.kv_heads == spec.heads ? heads : std::min(spec.kv_heads, heads);
  while (heads % spec.kv_heads != 0) --spec.kv_heads;
  spec.hidden = hidden;
  spec.heads = heads;
}

}  // namespace

Result<Question> question_at(const Question& question, Extent extent, std::int64_t value) {
  Question grown = question;
  switch (extent) {
    case Extent::kLayers:
      if (!is_plain(grown.spec)) return fail(cannot_grow(question, "layers"));
      deepen(grown.spec, value);
      break;
    case Extent::kWidth:
      if (!is_plain(grown.spec) || grown.spec.hidden != grown.spec.heads * grown.spec.head_dim)
        return fail(cannot_grow(question, "width"));
      widen(grown.spec, value);
      break;
    case Extent::kBatch:
      grown.recipe.micro_batch = value;
      break;
    case Extent::kSequence:
      if (grown.spec.is_conv_net() || grown.spec.reads_images()) return fail(cannot_grow(question, "sequence"));
      grown.recipe.sequence = value * kSequenceStep;
      grown.spec.max_positions = std::max(grown.spec.max_positions, grown.recipe.sequence);
      break;
  }
  if (const auto valid = validate(grown.spec); !valid) return fail(valid.error());
  return grown;
}

std::string_view unit_of(Extent extent) {
  switch (extent) {
    case Extent::kLayers: return "layers";
    case Extent::kWidth: return "heads";
    case Extent::kBatch: return "sequences";
    case Extent::kSequence: return "tokens";
  }
  return "";
}

std::int64_t in_units(Extent extent, std::int64_t value) { return extent == Extent::kSequence ? value * kSequenceStep : value; }

Result<Extent> parse_extent(std::string_view text) {
  if (text == "model" || text == "layers") return Extent::kLayers;
  if (text == "width") return Extent::kWidth;
  if (text == "batch") return Extent::kBatch;
  if (text == "sequence" || text == "seq") return Extent::kSequence;
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' is nothing that can be largest", text), .where = "--what",
               .remedy = "choose model, width, batch or sequence"});
}

}  // namespace plimsoll
