#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/graph/masked_token.h"
#include "executor/data/counter_random.h"
#include "executor/data/token_source.h"
#include "formats/models/resolve_model.h"
#include "formats/models/safetensors_file.h"

// The models that transformers made and computed with (make_reference.py), and what it computed.
namespace plimsoll::test {

inline const std::filesystem::path kReferenceData = PLIMSOLL_REFERENCE_DATA;
inline constexpr std::int64_t kReferenceSequence = 16;
inline constexpr std::int64_t kReferenceTarget = 10;  ///< of a decoder behind an encoder
/// Decoders; encoders have names of their own.
inline const std::vector<std::string> kReferenceModels{"gpt2",  "llama", "llama3", "mistral", "qwen2",
                                                       "qwen3", "gemma", "phi",    "mixtral"};

/// Token i is mix64(i) scaled to the vocabulary.
class ReferenceCorpus final : public TokenSource {
 public:
  [[nodiscard]] std::int64_t size() const override { return 400; }
  void read(std::int64_t offset, std::span<std::int32_t> out) const override {
    for (std::int32_t& token : out) token = static_cast<std::int32_t>(to_range(mix64(static_cast<std::uint64_t>(offset++)), 64));
  }
};

/// The same of which a third of the targets counts: those whose place mix64 takes to a multiple of three.
class MaskedReferenceCorpus final : public TokenSource {
 public:
  [[nodiscard]] std::int64_t size() const override { return tokens_.size(); }
  [[nodiscard]] bool masked() const override { return true; }
  void read(std::int64_t offset, std::span<std::int32_t> out) const override {
    tokens_.read(offset, out);
    for (std::int32_t& token : out) token |= counts(offset++) ? 0 : kUncounted;
  }
  [[nodiscard]] std::int64_t counted(std::int64_t offset, std::int64_t tokens) const override {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < tokens; ++i) sum += counts(offset + i) ? 1 : 0;
    return sum;
  }

 private:
  static bool counts(std::int64_t place) { return mix64(static_cast<std::uint64_t>(1000 + place)) % 3 == 0; }

  ReferenceCorpus tokens_;
};

inline ModelSpec reference_spec(const std::filesystem::path& model) {
  const auto found = describe_model(model.string());
  if (!found) FAIL(found.error().text());
  for (const ModelNote& note : found->notes) {
    INFO(note.text);
    CHECK_FALSE(note.changes_numbers);
  }
  return found->spec;
}

/// Of the corpus' first tokens, [token, vocabulary], or of the first records or images, [record, class].
inline std::vector<double> reference_logits(const std::filesystem::path& model) {
  const auto file = SafetensorsFile::open(model / "logits.safetensors");
  REQUIRE(file);
  const SafetensorsTensor& logits = *file->header().find("logits");
  std::vector<float> values(static_cast<std::size_t>(logits.elements));
  REQUIRE(file->read(logits, 0, values));
  return {values.begin(), values.end()};
}

/// The largest difference, over the typical value.
inline double distance(const std::vector<double>& ours, const std::vector<double>& theirs) {
  REQUIRE(ours.size() == theirs.size());
  double most = 0;
  double squares = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) most = std::max(most, std::abs(ours[i] - theirs[i]));
  for (const double value : theirs) squares += value * value;
  return most / std::sqrt(squares / static_cast<double>(theirs.size()));
}

}  // namespace plimsoll::test
