#include "formats/chat/parse_template.h"

#include <algorithm>

#include "formats/chat/parse_expression.h"
#include "formats/chat/token_stream.h"

namespace plimsoll::chat {
namespace {

using Kind = Statement::Kind;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(read_tokens(source)) {}

  Block run() {
    Block block = body({});
    if (!tokens_.at(Lexeme::kEnd)) tokens_.refuse("a block tag that closes nothing");
    return block;
  }

 private:
  /// Statements up to the end or to a tag that begins with one of `ends`, of which that word is left.
  Block body(std::initializer_list<std::string_view> ends) {
    const TokenStream::Level level(tokens_);
    Block block;
    while (!tokens_.at(Lexeme::kEnd)) {
      if (tokens_.at(Lexeme::kBlock) && std::find(ends.begin(), ends.end(), tokens_.ahead().text) != ends.end()) {
        tokens_.take();
        return block;
      }
      block.push_back(statement());
    }
    if (ends.size() > 0) tokens_.refuse(fmt::format("a block without its '{}'", *(ends.end() - 1)));
    return block;
  }

  Block body_until(std::string_view end) {
    end_tag();
    Block block = body({end});
    tokens_.take();
    end_tag();
    return block;
  }

  void end_tag() { tokens_.expect(Lexeme::kBlockEnd, "the tag's end"); }

  Statement statement() {
    Statement made{.line = tokens_.peek().line};
    if (tokens_.at(Lexeme::kData)) {
      made.text = tokens_.take().text;
    } else if (tokens_.at(Lexeme::kPrint)) {
      tokens_.take();
      made.kind = Kind::kPrint;
      made.expression = parse_tuple(tokens_);
      tokens_.expect(Lexeme::kPrintEnd, "'}}'");
    } else {
      tokens_.expect(Lexeme::kBlock, "a tag");
      block(made);
    }
    return made;
  }

  void block(Statement& made) {
    const Token word = tokens_.expect(Lexeme::kName, "a word");
    if (word.text == "if") return choice(made);
    if (word.text == "for") return loop(made);
    if (word.text == "set") return set(made);
    if (word.text == "macro") return macro(made);
    if (word.text == "filter") return filter(made);
    if (word.text == "generation") {
      made.kind = Kind::kGeneration;
      made.body = body_until("endgeneration");
    } else if (word.text == "break" || word.text == "continue") {
      made.kind = word.text == "break" ? Kind::kBreak : Kind::kContinue;
      end_tag();
    } else {
      throw TemplateError(fmt::format("line {}: the tag '{}' is not known here", word.line, word.text));
    }
  }

  void choice(Statement& made) {
    made.kind = Kind::kIf;
    made.expression = parse_tuple(tokens_);
    end_tag();
    made.body = body({"elif", "else", "endif"});
    const Token word = tokens_.take();
    if (word.text == "elif") {
      const TokenStream::Level level(tokens_);
      Statement next{.line = word.line};
      choice(next);
      made.otherwise.push_back(std::move(next));
    } else if (word.text == "else") {
      made.otherwise = body_until("endif");
    } else {
      end_tag();
    }
  }

  std::vector<std::string> targets() {
    const bool parentheses = tokens_.accept_sign("(");
    std::vector<std::string> names{tokens_.expect(Lexeme::kName, "a name").text};
    while (tokens_.accept_sign(",")) names.push_back(tokens_.expect(Lexeme::kName, "a name").text);
    if (parentheses) tokens_.expect_sign(")");
    return names;
  }

  void loop(Statement& made) {
    made.kind = Kind::kFor;
    made.names = targets();
    tokens_.expect_word("in");
    made.expression = parse_expression(tokens_, false);
    if (tokens_.accept_word("if")) made.condition = parse_expression(tokens_);
    if (tokens_.at_word("recursive")) tokens_.refuse("a recursive loop is not known here");
    end_tag();
    made.body = body({"else", "endfor"});
    if (tokens_.take().text == "else") {
      made.otherwise = body_until("endfor");
    } else {
      end_tag();
    }
  }

  void set(Statement& made) {
    made.names = targets();
    if (tokens_.accept_sign(".")) {
      made.kind = Kind::kSetMember;
      made.text = made.names.front();
      made.names = {tokens_.expect(Lexeme::kName, "a name").text};
      tokens_.expect_sign("=");
      made.expression = parse_tuple(tokens_);
      return end_tag();
    }
    if (tokens_.accept_sign("=")) {
      made.kind = Kind::kSet;
      made.expression = parse_tuple(tokens_);
      return end_tag();
    }
    made.kind = Kind::kSetBlock;
    made.expression = parse_filters(tokens_, true);
    made.body = body_until("endset");
  }

  void macro(Statement& made) {
    made.kind = Kind::kMacro;
    auto defined = std::make_shared<Macro>();
    defined->name = tokens_.expect(Lexeme::kName, "a name").text;
    tokens_.expect_sign("(");
    while (!tokens_.at_sign(")")) {
      Parameter parameter{.name = tokens_.expect(Lexeme::kName, "a name").text, .value = nullptr};
      if (tokens_.accept_sign("=")) parameter.value = parse_expression(tokens_);
      defined->parameters.push_back(std::move(parameter));
      if (!tokens_.at_sign(")")) tokens_.expect_sign(",");
    }
    tokens_.expect_sign(")");
    defined->body = body_until("endmacro");
    made.macro = std::move(defined);
  }

  void filter(Statement& made) {
    made.kind = Kind::kFilter;
    made.expression = parse_filters(tokens_, false);
    made.body = body_until("endfilter");
  }

  TokenStream tokens_;
};

}  // namespace

Block parse_template(std::string_view source) { return Parser(source).run(); }

}  // namespace plimsoll::chat
