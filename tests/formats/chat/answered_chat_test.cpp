#include "formats/chat/answered_chat.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "formats/text/parse_ordered_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

using json = nlohmann::ordered_json;

const json& reference() {
  static const json made = parse_ordered_json(read_text_file(PLIMSOLL_CHATS, Bytes(1 << 22)).value(), "chats.json").value();
  return made;
}

Result<RenderedChat> answers(const std::string& name, std::size_t chat) {
  const auto parsed = ChatTemplate::parse(reference()["templates"][name].get<std::string>(), name).value();
  const json none;
  return render_answers(parsed, {.messages = reference()["chats"][chat], .tools = none,
                                 .names = {{"bos_token", "<s>"}, {"eos_token", "</s>"}}});
}

std::vector<std::string> texts(const RenderedChat& chat) {
  std::vector<std::string> all;
  for (const TextSpan& span : chat.answers) all.emplace_back(span.of(chat.text));
  return all;
}

const std::string kSays = "As deep as the ship lies: 吃水 🚢";

}  // namespace

TEST_CASE("answers are found in every template that writes a chat's beginning as the beginning of the chat") {
  // Chat 3: a question, an answer, the same again.
  CHECK(texts(answers("chatml", 3).value()) == std::vector<std::string>(2, " " + kSays + "\n<|im_end|>\n"));
  CHECK(texts(answers("llama3", 3).value()) == std::vector<std::string>(2, kSays + "<|eot_id|>"));
  CHECK(texts(answers("llama2", 3).value()) == std::vector<std::string>(2, " " + kSays + " </s>"));
  CHECK(texts(answers("mistral", 3).value()) == std::vector<std::string>(2, " " + kSays + "</s>"));
  CHECK(texts(answers("gemma", 3).value()) == std::vector<std::string>(2, kSays + "<end_of_turn>\n"));
  CHECK(texts(answers("qwen2", 2).value()) == std::vector<std::string>(1, " " + kSays + "\n<|im_end|>\n"));
}

TEST_CASE("generation blocks tell it themselves") {
  CHECK(texts(answers("chatml marked", 3).value()) == std::vector<std::string>(2, " " + kSays + "\n<|im_end|>"));
}

TEST_CASE("a template that writes earlier answers otherwise is refused by the message") {
  const auto refused = answers("qwen3", 7);  // thoughts of the earlier answer are left out
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what, Catch::Contains("writes message 2 otherwise when more follows"));
  CHECK_THAT(refused.error().remedy, Catch::Contains("{% generation %}"));
}

TEST_CASE("a chat without an answer, and one that begins with it, are refused") {
  CHECK_THAT(answers("chatml", 0).error().what, Catch::Contains("without an assistant's answer"));
  CHECK_THAT(answers("chatml", 8).error().what, Catch::Contains("begins with its answer"));
}

}  // namespace plimsoll
