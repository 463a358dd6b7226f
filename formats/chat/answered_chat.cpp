#include "formats/chat/answered_chat.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace plimsoll {
namespace {

using json = nlohmann::ordered_json;

tl::unexpected<Error> bad(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

bool is_answer(const json& message) { return message.contains("role") && message["role"] == "assistant"; }

/// The text of the first `count` messages.
Result<std::string> beginning(const ChatTemplate& chat, const ChatInput& input, std::size_t count, bool prompts) {
  const json first(input.messages.begin(), input.messages.begin() + static_cast<std::ptrdiff_t>(count));
  ChatInput part{.messages = first, .tools = input.tools, .names = input.names, .prompts = prompts, .now = input.now};
  auto rendered = chat.render(part);
  if (!rendered) return fail(rendered.error());
  return std::move(rendered->text);
}

Result<TextSpan> find_answer(const ChatTemplate& chat, const ChatInput& input, std::size_t index, std::string_view whole) {
  const auto before = beginning(chat, input, index, true);
  if (!before) return fail(before.error());
  const auto with = beginning(chat, input, index + 1, false);
  if (!with) return fail(with.error());
  if (whole.starts_with(*before) && whole.starts_with(*with) && before->size() <= with->size()) {
    return TextSpan{before->size(), with->size()};
  }
  return bad(fmt::format("the chat template writes message {} otherwise when more follows, so it does not tell where the "
                         "answer lies", index + 1),
             "use a template with {% generation %} blocks, or --train-on all");
}

}  // namespace

Result<RenderedChat> render_answers(const ChatTemplate& chat, const ChatInput& input) {
  auto whole = chat.render(input);
  if (!whole) return whole;
  if (!chat.marks_answers()) {
    for (std::size_t i = 0; i < input.messages.size(); ++i) {
      if (!is_answer(input.messages[i])) continue;
      if (i == 0) return bad("a chat that begins with its answer has no prompt");
      const auto answer = find_answer(chat, input, i, whole->text);
      if (!answer) return fail(answer.error());
      whole->answers.push_back(*answer);
    }
  }
  if (whole->answers.empty()) return bad("a chat without an assistant's answer", "use --train-on all to train on it as a whole");
  return whole;
}

}  // namespace plimsoll
