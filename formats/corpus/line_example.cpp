#include "formats/corpus/line_example.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/text/json_text.h"
#include "formats/text/parse_ordered_json.h"

namespace plimsoll {
namespace {

using json = nlohmann::ordered_json;

tl::unexpected<Error> bad(const std::string& where, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = where, .remedy = std::move(remedy)});
}

/// The error with the line's place.
tl::unexpected<Error> at_line(Error error, const std::string& where) {
  error.where = error.where.empty() ? where : fmt::format("{}, {}", where, error.where);
  return fail(std::move(error));
}

void end_with(Example& example, TokenId end) {
  example.tokens.push_back(end);
  example.counts.push_back(true);
}

Result<Example> chat_example(const Tokenizer& tokenizer, const json& messages, const json& line, const std::string& where,
                             const LineRules& rules) {
  if (rules.chat == nullptr) {
    return bad(where, "a chat needs the model's template",
               "put tokenizer_config.json or chat_template.jinja beside tokenizer.json, or name a --template");
  }
  const json none;
  const auto tools = line.find("tools");
  const ChatInput input{.messages = messages, .tools = tools == line.end() ? none : *tools, .names = rules.names,
                        .prompts = false,
                        .now = rules.now};
  const auto chat = rules.answers_only ? render_answers(*rules.chat, input) : rules.chat->render(input);
  if (!chat) return at_line(chat.error(), where);
  constexpr EncodeOptions kBare{.frame = false};  // a template writes the first token itself
  const std::vector<TextSpan> whole{{0, chat->text.size()}};
  auto example = encode_answers(tokenizer, chat->text, rules.answers_only ? chat->answers : whole, kBare);
  if (!example) return at_line(example.error(), where);
  return example;
}

Result<Example> pair_example(const Tokenizer& tokenizer, const json& line, const std::string& where, const LineRules& rules) {
  const json& prompt = line["prompt"];
  const json& completion = line["completion"];
  if (prompt.is_array() && completion.is_array()) {
    json messages = prompt;
    messages.insert(messages.end(), completion.begin(), completion.end());
    return chat_example(tokenizer, messages, line, where, rules);
  }
  if (!prompt.is_string() || !completion.is_string()) {
    return bad(where, "\"prompt\" and \"completion\" must both be texts, or both lists of messages");
  }
  const auto& before = prompt.get_ref<const std::string&>();
  const std::string text = before + completion.get_ref<const std::string&>();
  auto example = encode_answers(tokenizer, text, {{rules.answers_only ? before.size() : 0, text.size()}}, {});
  if (!example) return at_line(example.error(), where);
  end_with(*example, rules.end);
  return example;
}

}  // namespace

Result<Example> text_example(const Tokenizer& tokenizer, std::string_view text, TokenId end) {
  auto example = encode_text(tokenizer, text);
  if (example && !text.empty()) end_with(*example, end);
  return example;
}

Result<Example> read_line_example(const Tokenizer& tokenizer, std::string_view line, const std::string& where,
                                  const LineRules& rules) {
  const auto parsed = parse_ordered_json(line, where);
  if (!parsed) return fail(parsed.error());
  if (!parsed->is_object()) return bad(where, "a line must be an object");
  if (const auto messages = parsed->find("messages"); messages != parsed->end()) {
    return chat_example(tokenizer, *messages, *parsed, where, rules);
  }
  if (parsed->contains("prompt") && parsed->contains("completion")) return pair_example(tokenizer, *parsed, where, rules);
  const auto text = parsed->find(rules.field);
  if (text == parsed->end() || !text->is_string()) {
    return bad(where, fmt::format("there is no text under {}", json_quote(rules.field)),
               "name the key with --field, or give \"messages\", or \"prompt\" and \"completion\"");
  }
  auto example = text_example(tokenizer, text->get_ref<const std::string&>(), rules.end);
  if (!example) return at_line(example.error(), where);
  return example;
}

}  // namespace plimsoll
