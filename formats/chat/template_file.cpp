#include "formats/chat/template_file.h"

#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestTemplate{std::int64_t{4} << 20};

/// "<s>", or {"content": "<s>", …}.
std::string token_text(const JsonNode& node) { return node.is_object() ? node.at("content").text() : node.text(); }

/// The template's text: "…", or [{"name": "default", "template": "…"}, …].
std::string template_text(const JsonNode& node) {
  if (node.is_text()) return node.text();
  std::string text;
  for (const JsonNode& one : node.elements()) {
    const std::string name = one.at("name").text();
    if (text.empty() || name == "default") text = one.at("template").text();
  }
  return text;
}

}  // namespace

Result<ChatTemplate> read_chat_template(const std::filesystem::path& file) {
  const auto text = read_text_file(file, kLargestTemplate);
  if (!text) return fail(text.error());
  return ChatTemplate::parse(*text, file.string());
}

Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder) {
  TokenizerConfig config;
  std::string source;
  const std::filesystem::path file = folder / "tokenizer_config.json";
  if (std::filesystem::exists(file)) {
    const auto text = read_text_file(file, kLargestTemplate);
    if (!text) return fail(text.error());
    const auto json = parse_json(*text, file.string());
    if (!json) return fail(json.error());
    JsonFault fault{.where = file.string(), .error = {}};
    const JsonNode root(*json, "", fault);
    for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
      if (root.has(name) && !root.at(name).is_null()) config.tokens[name] = token_text(root.at(name));
    }
    if (root.has("chat_template") && !root.at("chat_template").is_null()) source = template_text(root.at("chat_template"));
    if (fault.error) return fail(*fault.error);
  }
  const std::filesystem::path own = folder / "chat_template.jinja";
  if (std::filesystem::exists(own)) {
    auto chat = read_chat_template(own);
    if (!chat) return fail(chat.error());
    config.chat.emplace(std::move(*chat));
  } else if (!source.empty()) {
    auto chat = ChatTemplate::parse(source, file.string());
    if (!chat) return fail(chat.error());
    config.chat.emplace(std::move(*chat));
  }
  return config;
}

}  // namespace plimsoll
