#include "formats/chat/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/chat/machine.h"
#include "formats/chat/parse_template.h"
#include "formats/tokenizers/utf8.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> bad(std::string what, std::string where, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

bool marks(const chat::Block& block) {
  return std::any_of(block.begin(), block.end(), [](const chat::Statement& statement) {
    return statement.kind == chat::Statement::Kind::kGeneration || marks(statement.body) || marks(statement.otherwise);
  });
}

/// A chat must be a list of objects with a role; what else they need only the template knows.
Result<void> check_messages(const nlohmann::ordered_json& messages) {
  if (!messages.is_array() || messages.empty()) return bad("\"messages\" must be a list that is not empty", "");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& message = messages[i];
    if (!message.is_object()) return bad(fmt::format("message {} is no object", i + 1), "");
    const auto role = message.find("role");
    if (role == message.end() || !role->is_string()) return bad(fmt::format("message {} has no \"role\"", i + 1), "");
    if (!message.contains("content") && !message.contains("tool_calls")) {
      return bad(fmt::format("message {} has no \"content\"", i + 1), "");
    }
  }
  return {};
}

}  // namespace

struct ChatTemplate::Parsed {
  chat::Block block;
  std::string where;
  bool marks_answers = false;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const std::string& where) {
  if (first_invalid_utf8(source)) return bad("the template is not UTF-8", where);
  try {
    auto parsed = std::make_unique<Parsed>(Parsed{.block = chat::parse_template(source), .where = where});
    parsed->marks_answers = marks(parsed->block);
    return ChatTemplate(std::move(parsed));
  } catch (const chat::TemplateError& error) {
    return bad(fmt::format("the chat template cannot be used: {}", error.what()), where);
  }
}

bool ChatTemplate::marks_answers() const { return parsed_->marks_answers; }

Result<RenderedChat> ChatTemplate::render(const ChatInput& input) const {
  if (const auto sound = check_messages(input.messages); !sound) return fail(sound.error());
  std::map<std::string, chat::Value> names{{"messages", chat::Value::from(input.messages)},
                                           {"add_generation_prompt", input.prompts},
                                           {"tools", chat::Value::from(input.tools)},
                                           {"documents", chat::None{}}};
  for (const auto& [name, token] : input.names) names[name] = token;
  try {
    chat::Machine machine(std::move(names), input.now);
    std::string text = machine.run(parsed_->block);
    return RenderedChat{.text = std::move(text), .answers = machine.generations()};
  } catch (const chat::TemplateError& error) {
    return bad(fmt::format("the chat template does not take these messages: {}", error.what()), parsed_->where);
  }
}

}  // namespace plimsoll
