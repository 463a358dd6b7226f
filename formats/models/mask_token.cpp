#include "formats/models/mask_token.h"

#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

constexpr Bytes kMaxTokenizer = 256 * kMiB;

bool is_mask(std::string_view token) { return token == "[MASK]" || token == "<mask>"; }

/// A token a line; the line's number is its id.
std::int64_t in_vocabulary(std::string_view text) {
  std::int64_t id = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view token = text.substr(0, end);
    if (token.ends_with('\r')) token.remove_suffix(1);
    if (is_mask(token)) return id;
    text.remove_prefix(std::min(end + 1, text.size()));
    ++id;
  }
  return -1;
}

std::int64_t in_tokenizer(std::string_view text, const std::string& where) {
  const auto parsed = parse_json(text, where);
  if (!parsed || !parsed->is_object() || !parsed->contains("added_tokens")) return -1;
  for (const nlohmann::json& token : (*parsed)["added_tokens"]) {
    if (!token.is_object() || !token.contains("content") || !token.contains("id")) continue;
    const bool whole = token["content"].is_string() && token["id"].is_number_integer();
    if (whole && is_mask(token["content"].get<std::string>())) return token["id"].get<std::int64_t>();
  }
  return -1;
}

}  // namespace

std::int64_t find_mask_token(const std::filesystem::path& folder) {
  if (const auto text = read_text_file(folder / "vocab.txt", kMaxTokenizer)) return in_vocabulary(*text);
  const auto text = read_text_file(folder / "tokenizer.json", kMaxTokenizer);
  return text ? in_tokenizer(*text, "tokenizer.json") : -1;
}

}  // namespace plimsoll
