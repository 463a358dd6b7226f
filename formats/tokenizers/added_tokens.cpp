#include "formats/tokenizers/added_tokens.h"

#include <algorithm>

#include "formats/tokenizers/utf8.h"
#include "formats/tokenizers/white_space.h"

namespace plimsoll {
namespace {

/// Start of the character before `at`.
std::size_t character_before(std::string_view text, std::size_t at) {
  --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

bool is_word_character(std::string_view text, std::size_t at) {
  static const Regex kWord = Regex::compile(R"(\w)").value();
  return !kWord.matches(text.substr(at, utf8_length(text[at]))).value().empty();
}

bool touches_word(std::string_view text, const TextSpan& span) {
  if (span.begin > 0 && is_word_character(text, character_before(text, span.begin))) return true;
  return span.end < text.size() && is_word_character(text, span.end);
}

/// The span with the white space that the token takes along; nothing before `free` is.
TextSpan widened(std::string_view text, TextSpan span, const AddedToken& token, std::size_t free) {
  while (token.strip_left && span.begin > free) {
    const std::size_t before = character_before(text, span.begin);
    if (!is_white_space(utf8_at(text, before))) break;
    span.begin = before;
  }
  while (token.strip_right && span.end < text.size() && is_white_space(utf8_at(text, span.end))) {
    span.end += utf8_length(text[span.end]);
  }
  return span;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(tokens_.size()); ++i) insert(i);
}

std::int32_t AddedTokens::child_of(std::int32_t node, char byte) const {
  const auto& next = trie_[static_cast<std::size_t>(node)].next;
  const auto found = std::find_if(next.begin(), next.end(), [&](const auto& entry) { return entry.first == byte; });
  return found == next.end() ? -1 : found->second;
}

void AddedTokens::insert(std::int32_t token) {
  const std::string& content = tokens_[static_cast<std::size_t>(token)].content;
  if (content.empty()) return;
  std::int32_t node = 0;
  for (const char byte : content) {
    std::int32_t child = child_of(node, byte);
    if (child < 0) {
      child = static_cast<std::int32_t>(trie_.size());
      trie_[static_cast<std::size_t>(node)].next.emplace_back(byte, child);
      trie_.emplace_back();
    }
    node = child;
  }
  trie_[static_cast<std::size_t>(node)].token = token;
}

std::int32_t AddedTokens::longest_at(std::string_view text, std::size_t at) const {
  std::int32_t longest = -1;
  std::int32_t node = 0;
  for (; at < text.size(); ++at) {
    node = child_of(node, text[at]);
    if (node < 0) break;
    if (const std::int32_t token = trie_[static_cast<std::size_t>(node)].token; token >= 0) longest = token;
  }
  return longest;
}

std::vector<TextPart> AddedTokens::split(std::string_view text) const {
  std::vector<TextPart> parts;
  std::size_t free = 0;  // what lies before belongs to a part
  for (std::size_t at = 0; at < text.size() && trie_.size() > 1;) {
    const std::int32_t found = longest_at(text, at);
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(found)];
    const TextSpan match{at, at + token.content.size()};
    at = match.end;
    if (token.single_word && touches_word(text, match)) continue;
    const TextSpan span = widened(text, match, token, free);
    if (span.begin > free) parts.push_back({{free, span.begin}, std::nullopt});
    parts.push_back({span, token.id});
    free = at = span.end;
  }
  if (free < text.size()) parts.push_back({{free, text.size()}, std::nullopt});
  return parts;
}

std::vector<AddedToken> read_added_tokens(const JsonNode& root) {
  std::vector<AddedToken> tokens;
  for (const JsonNode& node : root.elements_of("added_tokens")) {
    tokens.push_back({.id = static_cast<TokenId>(node.at("id").integer(0, (1 << 24) - 1)),
                      .content = node.at("content").text(),
                      .single_word = node.boolean_or("single_word", false),
                      .strip_left = node.boolean_or("lstrip", false),
                      .strip_right = node.boolean_or("rstrip", false),
                      .normalized = node.boolean_or("normalized", true),
                      .special = node.boolean_or("special", false)});
  }
  return tokens;
}

}  // namespace plimsoll
