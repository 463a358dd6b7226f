#include "formats/corpus/example.h"

#include <algorithm>

namespace plimsoll {
namespace {

std::size_t length_of(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
  std::size_t length = 0;
  for (const TokenId id : tokens) length += tokenizer.token_of(id).size();
  return length;
}

/// A place of the text between, or within, tokens of `whole`.
struct Cut {
  std::size_t first_behind = 0;  ///< the first token that holds something behind the place
  std::size_t end_before = 0;    ///< one more than the last that holds something before it
};

/// Tokens do not say which bytes they hold (a normalizer may have changed them), so the beginning of the text is tokenized
/// alone: where the two lists agree they hold the same text. Behind that they hold it cut differently, and are as long.
Result<Cut> find_cut(const Tokenizer& tokenizer, std::string_view text, std::size_t at, std::span<const TokenId> whole,
                     const EncodeOptions& options) {
  const auto beginning = tokenizer.encode(text.substr(0, at), options);
  if (!beginning) return fail(beginning.error());
  const auto differ = std::mismatch(beginning->begin(), beginning->end(), whole.begin(), whole.end());
  const auto same = static_cast<std::size_t>(differ.first - beginning->begin());
  const std::size_t length = length_of(tokenizer, std::span(*beginning).subspan(same));
  std::size_t end = same;
  for (std::size_t held = 0; held < length && end < whole.size(); ++end) held += tokenizer.token_of(whole[end]).size();
  const bool clean = end == same || length_of(tokenizer, whole.subspan(same, end - same)) == length;
  return Cut{clean ? end : end - 1, end};
}

/// The frame's tokens are not the model's to learn here.
void put_frame(const PostProcessor& frame, Example& example) {
  example.tokens.insert(example.tokens.begin(), frame.before.begin(), frame.before.end());
  example.counts.insert(example.counts.begin(), frame.before.size(), false);
  example.tokens.insert(example.tokens.end(), frame.after.begin(), frame.after.end());
  example.counts.resize(example.tokens.size(), false);
}

}  // namespace

Result<Example> encode_text(const Tokenizer& tokenizer, std::string_view text) {
  auto tokens = tokenizer.encode(text);
  if (!tokens) return fail(tokens.error());
  Example example{.tokens = std::move(*tokens), .counts = {}};
  example.counts.assign(example.tokens.size(), true);
  return example;
}

Result<Example> encode_answers(const Tokenizer& tokenizer, std::string_view text, const std::vector<TextSpan>& answers,
                               const EncodeOptions& options) {
  const EncodeOptions bare{.frame = false, .find_special = options.find_special};
  auto tokens = tokenizer.encode(text, bare);
  if (!tokens) return fail(tokens.error());
  Example example{.tokens = std::move(*tokens), .counts = {}};
  example.counts.assign(example.tokens.size(), false);
  for (const TextSpan& answer : answers) {
    if (answer.size() == 0) continue;
    const auto begin = find_cut(tokenizer, text, answer.begin, example.tokens, bare);
    if (!begin) return fail(begin.error());
    const auto end = find_cut(tokenizer, text, answer.end, example.tokens, bare);
    if (!end) return fail(end.error());
    for (std::size_t i = begin->first_behind; i < end->end_before; ++i) example.counts[i] = true;
  }
  if (options.frame) put_frame(tokenizer.frame(), example);
  return example;
}

}  // namespace plimsoll
