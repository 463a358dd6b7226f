#pragma once

#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/tokenizers/regex.h"

namespace plimsoll {

/// The special tokens that a template may write, by the names that it knows them under: "bos_token", "eos_token" …
using ChatTokens = std::map<std::string, std::string>;

/// What a template writes as text.
struct ChatInput {
  const nlohmann::ordered_json& messages;  ///< a list of objects with "role" and "content"
  const nlohmann::ordered_json& tools;     ///< null when there are none
  ChatTokens names;
  bool prompts = false;  ///< end with what an assistant's answer begins with (add_generation_prompt)
  std::time_t now = 0;   ///< what strftime_now tells
};

/// A chat as text.
struct RenderedChat {
  std::string text;
  std::vector<TextSpan> answers;  ///< what assistants say, in order, where the template marks it
};

/// A model's chat template: Jinja, as transformers carries it out (see formats/chat/README.md for what is known of it).
class ChatTemplate {
 public:
  /// Errors name the line and what is not known.
  static Result<ChatTemplate> parse(std::string_view source, const std::string& where);
  ChatTemplate(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  /// Errors: what the template raises itself (the order of roles, for one), keys that are missing, messages of another shape.
  [[nodiscard]] Result<RenderedChat> render(const ChatInput& input) const;

  /// True when it marks what assistants say ({% generation %}).
  [[nodiscard]] bool marks_answers() const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::unique_ptr<const Parsed> parsed);

  std::unique_ptr<const Parsed> parsed_;
};

}  // namespace plimsoll
