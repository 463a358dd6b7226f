#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "formats/chat/chat_template.h"
#include "formats/text/parse_ordered_json.h"
#include "formats/text/read_text_file.h"

// Templates, chats and snippets (tests/reference/make_chats.py), and what Jinja made of them.
namespace plimsoll {
namespace {

using json = nlohmann::ordered_json;

const json& reference() {
  static const json made = parse_ordered_json(read_text_file(PLIMSOLL_CHATS, Bytes(1 << 22)).value(), "chats.json").value();
  return made;
}

Result<RenderedChat> render(const std::string& source, const json& messages, const json& tools, bool prompts) {
  const auto chat = ChatTemplate::parse(source, "template");
  if (!chat) return fail(chat.error());
  return chat->render({.messages = messages,
                       .tools = tools,
                       .names = {{"bos_token", "<s>"}, {"eos_token", "</s>"}},
                       .prompts = prompts});
}

/// `wanted` holds "text" (and perhaps "answers"), or "error".
void check_same(const Result<RenderedChat>& found, const json& wanted) {
  if (wanted.contains("error")) {
    INFO("Jinja says " << wanted["error"] << ", here " << (found ? "text: " + found->text : found.error().text()));
    CHECK_FALSE(found);
    return;
  }
  if (!found) FAIL(found.error().text());
  CHECK(found->text == wanted["text"].get<std::string>());
  REQUIRE(found->answers.size() == (wanted.contains("answers") ? wanted["answers"].size() : 0));
  for (std::size_t i = 0; i < found->answers.size(); ++i) {
    CHECK(found->answers[i].begin == wanted["answers"][i][0].get<std::size_t>());
    CHECK(found->answers[i].end == wanted["answers"][i][1].get<std::size_t>());
  }
}

}  // namespace

TEST_CASE("every model's template writes every chat as Jinja does, or refuses it as well") {
  REQUIRE(reference()["cases"].size() > 200);
  for (const json& one : reference()["cases"]) {
    const std::string name = one["template"];
    INFO(name << ", chat " << one["chat"] << (one["prompts"] ? " with prompt" : ""));
    const json& messages = reference()["chats"][one["chat"].get<std::size_t>()];
    check_same(render(reference()["templates"][name], messages, one["tools"], one["prompts"]), one);
  }
}

TEST_CASE("every snippet of the language means what it means to Jinja") {
  for (const json& one : reference()["snippets"]) {
    INFO(one["source"]);
    check_same(render(one["source"], reference()["chats"][2], nullptr, false), one);
  }
}

TEST_CASE("what a template raises is told in its words") {
  const json two_users = reference()["chats"][4];
  const auto refused = render(reference()["templates"]["llama2"], two_users, nullptr, false);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what, Catch::Contains("Conversation roles must alternate"));
}

TEST_CASE("what is not known is refused by name and line") {
  const auto error = [](const std::string& source) { return ChatTemplate::parse(source, "t.jinja").error().text(); };
  CHECK_THAT(error("a\n{% include 'x' %}"), Catch::Contains("line 2: the tag 'include' is not known here"));
  CHECK_THAT(error("{% for x in y recursive %}{% endfor %}"), Catch::Contains("recursive"));
  CHECK_THAT(error("\n\n{{ a. }}"), Catch::Contains("t.jinja") && Catch::Contains("line 3: expected a name"));
  CHECK_THAT(error("\xFF"), Catch::Contains("not UTF-8"));
}

TEST_CASE("messages of another shape are refused") {
  const auto refusal = [](const char* messages) { return render("x", json::parse(messages), nullptr, false).error().what; };
  CHECK_THAT(refusal("{}"), Catch::Contains("must be a list"));
  CHECK_THAT(refusal("[]"), Catch::Contains("not empty"));
  CHECK_THAT(refusal(R"([{"role":"user","content":"x"},5])"), Catch::Contains("message 2 is no object"));
  CHECK_THAT(refusal(R"([{"content":"x"}])"), Catch::Contains("message 1 has no \"role\""));
  CHECK_THAT(refusal(R"([{"role":"user"}])"), Catch::Contains("message 1 has no \"content\""));
}

}  // namespace plimsoll
