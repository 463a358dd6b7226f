#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "formats/chat/chat_template.h"

// Templates that were valid and then damaged, nest without end or never stop: a text or an error with words.
namespace plimsoll {
namespace {

using json = nlohmann::ordered_json;

const std::string kValid =
    "{%- set ns = namespace(n=0) -%}{% macro m(a, b='x') %}{{ a ~ b }}{% endmacro %}"
    "{% for x in messages[::-1] if x.role != 'q' %}"
    "{%- if loop.first and not x.content is none %}{{ m(x['content'] | trim | replace('a', 'b'))[1:] }}{% elif 1 < 2 %}"
    "{% set ns.n = ns.n + 1 %}{{ {'a': [1, 2.5]} | tojson(indent=2) }}{% else %}{{ '\\u00e9' }}{% endif %}{% endfor %}{# c #}"
    "{% generation %}{{ range(3) | list }}{% endgeneration %}";

void use(const std::string& source) {
  static const json messages = json::parse(R"([{"role":"user","content":" a "},{"role":"assistant","content":"b"}])");
  static const json none;
  const auto chat = ChatTemplate::parse(source, "template");
  if (!chat) {
    if (chat.error().what.empty()) FAIL("an error without words");
    return;
  }
  const auto text = chat->render({.messages = messages, .tools = none, .names = {}});
  if (!text && text.error().what.empty()) FAIL("an error without words");
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a damaged template is refused in words or carried out") {
  std::mt19937_64 random(20261121);
  static const std::string kSigns = "{}%#-+|()[]'\"., \n\\0~:=<";
  for (std::size_t i = 0; i < kValid.size(); ++i) {
    use(kValid.substr(0, i));
    use(kValid.substr(0, i) + kValid.substr(i + 1));
    for (int k = 0; k < 4; ++k) {
      std::string form = kValid;
      form[i] = kSigns[random() % kSigns.size()];
      use(form);
    }
  }
}

TEST_CASE("a template that nests too deep is refused") {
  for (const char* opening :
       {"{{ (", "{{ [", "{{ -", "{{ not ", "{% if 1 %}", "{% for x in y %}", "{{ {1:", "{{ a[", "{{ 1 if 1 else "}) {
    use(repeated(opening, 1) + repeated(std::string(opening).substr(3), 50000));
    use(repeated(opening, 20000));
  }
  use("{% if 1 %}" + repeated("{% elif 1 %}", 20000) + "{% endif %}");
  use("{{ 1" + repeated(" + 1", 20000) + " }}");
  use("{{ a" + repeated("(1)", 3000) + " }}");
}

TEST_CASE("numbers beyond what a number holds are refused") {
  for (const char* form : {"{{ 1e400 }}", "{{ 1e-400 }}", "{{ 99999999999999999999 }}"}) {
    const auto parsed = ChatTemplate::parse(form, "t");
    REQUIRE_FALSE(parsed);
    CHECK_THAT(parsed.error().what, Catch::Contains("too large"));
  }
}

TEST_CASE("a template that never stops, or writes without end, is ended") {
  const auto refusal = [](const std::string& source) {
    const json messages = json::parse(R"([{"role":"user","content":"a"}])");
    const json none;
    const auto text = ChatTemplate::parse(source, "t").value().render({.messages = messages, .tools = none, .names = {}});
    REQUIRE_FALSE(text);
    return text.error().what;
  };
  CHECK_THAT(refusal("{% macro m(n) %}{{ m(n) }}{% endmacro %}{{ m(1) }}"), Catch::Contains("calls itself too often"));
  CHECK_THAT(refusal("{% for a in range(9999) %}{% for b in range(9999) %}{% set x = 1 %}{% endfor %}{% endfor %}"),
             Catch::Contains("takes too long"));
  CHECK_THAT(refusal("{{ 'x' * 999999999999 }}"), Catch::Contains("too long"));
  CHECK_THAT(refusal("{{ range(99999999999) }}"), Catch::Contains("too long"));
  CHECK_THAT(refusal("{{ 9223372036854775807 + 1 }}"), Catch::Contains("too large"));
}

}  // namespace plimsoll
