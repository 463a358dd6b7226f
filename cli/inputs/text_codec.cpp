#include "cli/inputs/text_codec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <memory>

#include "formats/models/end_tokens.h"
#include "formats/tokenizers/tokenizer.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kByteVocabulary = 256;

tl::unexpected<Error> bad(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

TextCodec byte_codec() {
  return {.encode = [](const std::string& text) -> Result<std::vector<std::int32_t>> {
            std::vector<std::int32_t> tokens;
            for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
            return tokens;
          },
          .decode = [](std::span<const std::int32_t> tokens) {
            std::string text;
            for (const std::int32_t token : tokens) text.push_back(static_cast<char>(token));
            return text;
          },
          .ends = {}};
}

Result<std::vector<std::int32_t>> parse_numbers(const std::string& text) {
  std::vector<std::int32_t> tokens;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int32_t token = -1;
    const auto [next, problem] = std::from_chars(at, end, token);
    if (problem != std::errc() || token < 0) {
      return bad(fmt::format("'{}' is no list of token numbers", text), "write them like 464,3290,318");
    }
    tokens.push_back(token);
    at = next;
  }
  return tokens;
}

Result<TextCodec> codec_of(const std::filesystem::path& file, const ModelSpec& spec) {
  auto loaded = Tokenizer::load(file);
  if (!loaded) return fail(loaded.error());
  if (loaded->vocabulary() > spec.vocabulary) {
    return bad(fmt::format("{} has {} tokens, the model {}", file.string(), loaded->vocabulary(), spec.vocabulary),
               "take the tokenizer that the model was trained with");
  }
  const auto tokenizer = std::make_shared<Tokenizer>(std::move(*loaded));
  return TextCodec{.encode = [tokenizer](const std::string& text) { return tokenizer->encode(text); },
                   .decode = [tokenizer](std::span<const std::int32_t> tokens) { return tokenizer->decode(tokens); },
                   .ends = {}};
}

}  // namespace

TextCodec number_codec() {
  return {.encode = parse_numbers,
          .decode = [](std::span<const std::int32_t> tokens) { return fmt::format("{}", fmt::join(tokens, " ")); },
          .ends = {}};
}

Result<TextCodec> find_text_codec(const ModelSpec& spec, const std::filesystem::path& folder, const std::string& tokenizer) {
  const std::filesystem::path beside = folder / "tokenizer.json";
  const std::filesystem::path file = tokenizer.empty() ? beside : std::filesystem::path(tokenizer);
  if (tokenizer.empty() && !std::filesystem::exists(beside)) {
    if (spec.vocabulary == kByteVocabulary) return byte_codec();
    return bad(fmt::format("there is no {}", beside.string()),
               "name the model's with --tokenizer, or give token numbers with --prompt-tokens");
  }
  auto codec = codec_of(file, spec);
  if (!codec) return codec;
  auto ends = end_tokens(folder);
  if (!ends) return fail(ends.error());
  codec->ends = std::move(*ends);
  return codec;
}

}  // namespace plimsoll
