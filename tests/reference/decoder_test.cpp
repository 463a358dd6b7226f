#include <algorithm>
#include <catch2/catch.hpp>

#include "executor/checkpoint/load_weights.h"
#include "executor/generation/decoder.h"
#include "tests/reference/reference_model.h"

namespace plimsoll::test {
namespace {

std::unique_ptr<Decoder> decoder_of(const std::string& name, std::int64_t threads) {
  const std::filesystem::path folder = kReferenceData / name;
  const ModelSpec spec = reference_spec(folder);
  auto decoder = Decoder::create(spec, {.threads = threads, .longest = kReferenceSequence}, [&](const WriteState& state) {
    return load_weights(folder, spec, Precision::kFp32, state);
  });
  if (!decoder) FAIL(decoder.error().text());
  return std::move(*decoder);
}

std::vector<std::int32_t> first_tokens() {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(kReferenceSequence));
  ReferenceCorpus().read(0, tokens);
  return tokens;
}

/// Logits of every token, read in pieces of `piece`; only the last token of a piece has any.
std::vector<std::vector<double>> logits_in_pieces(const std::string& name, std::size_t piece, std::int64_t threads = 1) {
  const auto decoder = decoder_of(name, threads);
  const std::vector<std::int32_t> tokens = first_tokens();
  std::vector<std::vector<double>> logits;
  for (std::size_t i = 0; i < tokens.size(); i += piece) {
    const auto last = decoder->read(std::span(tokens).subspan(i, std::min(piece, tokens.size() - i)));
    logits.emplace_back(last.begin(), last.end());
  }
  CHECK(decoder->tokens() == kReferenceSequence);
  return logits;
}

/// The rows that reading in pieces ends at, one after another.
std::vector<double> last_rows(const std::vector<double>& logits, std::size_t piece) {
  const auto rows = static_cast<std::size_t>(kReferenceSequence);
  const std::size_t width = logits.size() / rows;
  std::vector<double> last;
  for (std::size_t end = std::min(piece, rows);; end = std::min(end + piece, rows)) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>((end - 1) * width);
    last.insert(last.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    if (end == rows) return last;
  }
}

std::vector<double> in_a_row(const std::vector<std::vector<double>>& rows) {
  std::vector<double> all;
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

}  // namespace

TEST_CASE("a decoder has transformers' logits for every token, whether it reads them one by one or several at once") {
  for (const std::string& name : kReferenceModels) {
    const double bound = name == "mixtral" ? 2e-5 : 1e-5;  // its gates multiply roundings
    const std::vector<double> theirs = reference_logits(kReferenceData / name);
    for (const std::size_t piece : {1, 5, 16}) {
      INFO(name << " in pieces of " << piece);
      CHECK(distance(in_a_row(logits_in_pieces(name, piece)), last_rows(theirs, piece)) < bound);
    }
  }
}

TEST_CASE("a decoder's logits have the same bits for any number of threads") {
  for (const std::string& name : kReferenceModels) CHECK(logits_in_pieces(name, 3, 1) == logits_in_pieces(name, 3, 2));
}

TEST_CASE("a decoder refuses more tokens than its model has positions") {
  const std::filesystem::path folder = kReferenceData / "gpt2";
  const ModelSpec spec = reference_spec(folder);
  const auto refused = Decoder::create(spec, {.longest = spec.max_positions + 1}, [](const WriteState&) { return Result<void>(); });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::kInput);
  CHECK(refused.error().what.find(std::to_string(spec.max_positions)) != std::string::npos);
}

}  // namespace plimsoll::test
