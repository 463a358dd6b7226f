#include "formats/tokenizers/decoder.h"

#include <charconv>
#include <numeric>
#include <optional>

#include "formats/tokenizers/byte_alphabet.h"
#include "formats/tokenizers/utf8.h"

namespace plimsoll {
namespace {

using Tokens = std::vector<std::string>;

std::string joined(const Tokens& tokens) { return std::accumulate(tokens.begin(), tokens.end(), std::string()); }

void carry_out(const TokenDecoder::ByteLevel&, Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) bytes += from_byte_alphabet(token).value_or(token);
  tokens = {to_valid_utf8(bytes)};
}

void carry_out(const TokenDecoder::Fuse&, Tokens& tokens) { tokens = {joined(tokens)}; }

/// The byte of a token such as <0x0A>.
std::optional<char> byte_of(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc{} && end == token.data() + 5 ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

/// A run of bytes that is no UTF-8 becomes one U+FFFD a byte.
std::string text_of_run(const std::string& bytes) {
  if (!first_invalid_utf8(bytes)) return bytes;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) text += "\xEF\xBF\xBD";
  return text;
}

void carry_out(const TokenDecoder::ByteFallback&, Tokens& tokens) {
  Tokens written;
  std::string run;
  const auto end_run = [&] {
    if (!run.empty()) written.push_back(text_of_run(run));
    run.clear();
  };
  for (std::string& token : tokens) {
    if (const auto byte = byte_of(token)) {
      run += *byte;
      continue;
    }
    end_run();
    written.push_back(std::move(token));
  }
  end_run();
  tokens = std::move(written);
}

void carry_out(const TokenDecoder::Strip& step, Tokens& tokens) {
  if (step.content.empty()) return;
  for (std::string& token : tokens) {
    for (std::int64_t i = 0; i < step.start && token.starts_with(step.content); ++i) token.erase(0, step.content.size());
    for (std::int64_t i = 0; i < step.stop && token.ends_with(step.content); ++i) {
      token.resize(token.size() - step.content.size());
    }
  }
}

void carry_out(const TokenDecoder::Metaspace& step, Tokens& tokens) {
  const Regex mark = Regex::literal(step.mark);
  bool first = true;
  for (std::string& token : tokens) {
    if (first && step.drop_first && token.starts_with(step.mark)) token.erase(0, step.mark.size());
    token = replace_all(std::move(token), mark, " ").value();
    first = false;
  }
}

/// A pattern that backtracks without bound leaves its token as it is: text to look at must not fail.
void carry_out(const ReplaceText& step, Tokens& tokens) {
  for (std::string& token : tokens) token = replace_all(token, step.pattern, step.content).value_or(token);
}

TokenDecoder::Metaspace read_metaspace(const JsonNode& node) {
  TokenDecoder::Metaspace step{.mark = node.text_or("replacement", "\u2581")};
  step.drop_first = node.has("prepend_scheme") ? node.at("prepend_scheme").text() != "never"
                                               : node.boolean_or("add_prefix_space", true);
  return step;
}

}  // namespace

TokenDecoder TokenDecoder::read(const JsonNode& node) {
  TokenDecoder made;
  made.spaced_ = node.is_null();
  if (!node.is_null()) made.add(node);
  return made;
}

void TokenDecoder::add(const JsonNode& node) {
  static const std::vector<std::string> kKinds{"ByteLevel", "ByteFallback", "Fuse", "Strip", "Metaspace", "Replace",
                                               "Sequence"};
  switch (node.at("type").one_of(kKinds)) {
    case 0: steps_.emplace_back(ByteLevel{}); break;
    case 1: steps_.emplace_back(ByteFallback{}); break;
    case 2: steps_.emplace_back(Fuse{}); break;
    case 3:
      steps_.emplace_back(Strip{node.at("content").text(), node.at("start").integer(0, kMaxInt32),
                                node.at("stop").integer(0, kMaxInt32)});
      break;
    case 4: steps_.emplace_back(read_metaspace(node)); break;
    case 5: steps_.emplace_back(ReplaceText{read_pattern(node.at("pattern")), node.at("content").text()}); break;
    default:
      for (const JsonNode& step : node.elements_of("decoders")) add(step);
  }
}

std::string TokenDecoder::decode(Tokens tokens) const {
  if (spaced_) {
    for (std::size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, 1, ' ');
  }
  for (const Step& step : steps_) {
    std::visit([&](const auto& one) { carry_out(one, tokens); }, step);
  }
  return joined(tokens);
}

}  // namespace plimsoll
