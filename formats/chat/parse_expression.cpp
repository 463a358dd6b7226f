#include "formats/chat/parse_expression.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace plimsoll::chat {
namespace {

using Kind = Expression::Kind;

std::unique_ptr<Expression> make(Kind kind, int line) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->line = line;
  return made;
}

template <typename... Parts>
std::unique_ptr<Expression> make(Kind kind, int line, std::string name, Parts... parts) {
  auto made = make(kind, line);
  made->name = std::move(name);
  (made->parts.push_back(std::move(parts)), ...);
  return made;
}

ExpressionPtr constant(Value value, int line) {
  auto made = make(Kind::kConstant, line);
  made->constant = std::move(value);
  return made;
}

/// Counts what follows in a row, "a + b + c": each makes the tree of values a level deeper.
class Links {
 public:
  explicit Links(TokenStream& tokens) : tokens_(tokens) {}
  void add() {
    if (++count_ > kMost) tokens_.refuse("the expression is too long");
  }

 private:
  static constexpr int kMost = 500;

  TokenStream& tokens_;
  int count_ = 0;
};

/// Recursive descent in Jinja's order of precedence.
class Parser {
 public:
  explicit Parser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr choice() {
    const TokenStream::Level level(tokens_);
    ExpressionPtr value = either();
    while (tokens_.at_word("if")) {
      const int line = tokens_.take().line;
      ExpressionPtr condition = either();
      ExpressionPtr otherwise = tokens_.accept_word("else") ? choice() : nullptr;
      value = make(Kind::kChoice, line, "", std::move(value), std::move(condition), std::move(otherwise));
    }
    return value;
  }

  ExpressionPtr either() {
    return chain({"or"}, Lexeme::kName, [this] { return both(); });
  }

  ExpressionPtr filters_of(ExpressionPtr value, bool first_bar) {
    if (!first_bar) value = filter(std::move(value));
    return filters_and_tests(std::move(value));
  }

 private:
  using Rule = std::function<ExpressionPtr()>;

  ExpressionPtr chain(std::initializer_list<std::string_view> operators, Lexeme kind, const Rule& next) {
    ExpressionPtr left = next();
    const auto is_operator = [&] {
      return std::any_of(operators.begin(), operators.end(), [&](std::string_view sign) { return tokens_.at(kind, sign); });
    };
    for (Links links(tokens_); is_operator(); links.add()) {
      const Token sign = tokens_.take();
      ExpressionPtr right = next();
      left = make(Kind::kBinary, sign.line, sign.text, std::move(left), std::move(right));
    }
    return left;
  }

  ExpressionPtr both() {
    return chain({"and"}, Lexeme::kName, [this] { return negation(); });
  }

  ExpressionPtr negation() {
    if (!tokens_.at_word("not")) return comparison();
    const TokenStream::Level level(tokens_);
    const int line = tokens_.take().line;
    ExpressionPtr value = negation();
    return make(Kind::kUnary, line, "not", std::move(value));
  }

  /// "==" … ">=", "in" and "not in"; empty when none comes next.
  std::string comparison_operator() {
    for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (tokens_.accept_sign(sign)) return sign;
    }
    if (tokens_.accept_word("in")) return "in";
    if (tokens_.at_word("not") && tokens_.ahead().kind == Lexeme::kName && tokens_.ahead().text == "in") {
      tokens_.take();
      tokens_.take();
      return "not in";
    }
    return {};
  }

  ExpressionPtr comparison() {
    ExpressionPtr first = sum();
    std::string sign = comparison_operator();
    if (sign.empty()) return first;
    auto made = make(Kind::kCompare, first->line);
    made->parts.push_back(std::move(first));
    for (; !sign.empty(); sign = comparison_operator()) {
      made->operators.push_back(sign);
      made->parts.push_back(sum());
    }
    return made;
  }

  ExpressionPtr sum() {
    return chain({"+", "-"}, Lexeme::kSign, [this] { return joined(); });
  }
  ExpressionPtr joined() {
    return chain({"~"}, Lexeme::kSign, [this] { return product(); });
  }
  ExpressionPtr product() {
    return chain({"*", "/", "//", "%"}, Lexeme::kSign, [this] { return power(); });
  }
  ExpressionPtr power() {
    return chain({"**"}, Lexeme::kSign, [this] { return unary(true); });
  }

  ExpressionPtr unary(bool with_filters) {
    const TokenStream::Level level(tokens_);
    ExpressionPtr value;
    if (tokens_.at_sign("-") || tokens_.at_sign("+")) {
      const Token sign = tokens_.take();
      ExpressionPtr operand = unary(false);
      value = make(Kind::kUnary, sign.line, sign.text, std::move(operand));
    } else {
      value = primary();
    }
    value = postfix(std::move(value));
    return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
  }

  ExpressionPtr primary() {
    const Token token = tokens_.peek();
    switch (token.kind) {
      case Lexeme::kName: tokens_.take(); return name(token);
      case Lexeme::kString: return string();
      case Lexeme::kInteger: return number<std::int64_t>(tokens_.take());
      case Lexeme::kReal: return number<double>(tokens_.take());
      default: break;
    }
    if (tokens_.accept_sign("(")) return parentheses(token.line);
    if (tokens_.accept_sign("[")) return list(token.line);
    if (tokens_.accept_sign("{")) return dict(token.line);
    tokens_.refuse("expected a value");
  }

  static ExpressionPtr name(const Token& token) {
    if (token.text == "true" || token.text == "True") return constant(true, token.line);
    if (token.text == "false" || token.text == "False") return constant(false, token.line);
    if (token.text == "none" || token.text == "None") return constant(None{}, token.line);
    return make(Kind::kName, token.line, token.text);
  }

  /// Strings side by side are one.
  ExpressionPtr string() {
    const int line = tokens_.peek().line;
    std::string text;
    while (tokens_.at(Lexeme::kString)) text += tokens_.take().text;
    return constant(std::move(text), line);
  }

  template <typename Number>
  ExpressionPtr number(const Token& token) const {
    Number value = 0;
    const auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error != std::errc{})
      throw TemplateError(fmt::format("line {}: the number {} is too large or too small", token.line, token.text));
    return constant(value, token.line);
  }

  /// A value in parentheses, or a tuple, which is a list here.
  ExpressionPtr parentheses(int line) {
    auto items = make(Kind::kList, line);
    bool comma = false;
    while (!tokens_.at_sign(")")) {
      items->parts.push_back(choice());
      if (!tokens_.at_sign(")")) tokens_.expect_sign(","), comma = true;
    }
    tokens_.expect_sign(")");
    if (comma || items->parts.empty()) return items;
    return std::move(items->parts.front());
  }

  ExpressionPtr list(int line) {
    auto made = make(Kind::kList, line);
    while (!tokens_.at_sign("]")) {
      made->parts.push_back(choice());
      if (!tokens_.at_sign("]")) tokens_.expect_sign(",");
    }
    tokens_.expect_sign("]");
    return made;
  }

  ExpressionPtr dict(int line) {
    auto made = make(Kind::kDict, line);
    while (!tokens_.at_sign("}")) {
      made->parts.push_back(choice());
      tokens_.expect_sign(":");
      made->parts.push_back(choice());
      if (!tokens_.at_sign("}")) tokens_.expect_sign(",");
    }
    tokens_.expect_sign("}");
    return made;
  }

  ExpressionPtr postfix(ExpressionPtr value) {
    for (Links links(tokens_);; links.add()) {
      const int line = tokens_.peek().line;
      if (tokens_.accept_sign(".")) {
        value = member(std::move(value), line);
      } else if (tokens_.accept_sign("[")) {
        value = item(std::move(value), line);
      } else if (tokens_.accept_sign("(")) {
        auto call = make(Kind::kCall, line, "", std::move(value));
        arguments(*call);
        value = std::move(call);
      } else {
        return value;
      }
    }
  }

  ExpressionPtr member(ExpressionPtr value, int line) {
    if (tokens_.at(Lexeme::kInteger)) {
      ExpressionPtr index = number<std::int64_t>(tokens_.take());
      return make(Kind::kItem, line, "", std::move(value), std::move(index));
    }
    return make(Kind::kMember, line, tokens_.expect(Lexeme::kName, "a name").text, std::move(value));
  }

  ExpressionPtr item(ExpressionPtr value, int line) {
    ExpressionPtr bounds[3];
    int colons = 0;
    while (!tokens_.at_sign("]")) {
      if (tokens_.accept_sign(":")) {
        if (++colons > 2) tokens_.refuse("a slice has three parts at most");
      } else {
        if (bounds[colons]) tokens_.refuse("expected ']'");
        bounds[colons] = choice();
      }
    }
    tokens_.expect_sign("]");
    if (colons > 0) {
      return make(Kind::kSlice, line, "", std::move(value), std::move(bounds[0]), std::move(bounds[1]), std::move(bounds[2]));
    }
    if (!bounds[0]) tokens_.refuse("expected an index");
    return make(Kind::kItem, line, "", std::move(value), std::move(bounds[0]));
  }

  /// What stands behind an opened parenthesis.
  void arguments(Expression& call) {
    while (!tokens_.at_sign(")")) {
      if (tokens_.at(Lexeme::kName) && tokens_.ahead().kind == Lexeme::kSign && tokens_.ahead().text == "=") {
        std::string key = tokens_.take().text;
        tokens_.take();
        call.named.emplace_back(std::move(key), choice());
      } else {
        call.parts.push_back(choice());
      }
      if (!tokens_.at_sign(")")) tokens_.expect_sign(",");
    }
    tokens_.expect_sign(")");
  }

  ExpressionPtr filter(ExpressionPtr value) {
    const Token name = tokens_.expect(Lexeme::kName, "a filter");
    auto made = make(Kind::kFilter, name.line, name.text, std::move(value));
    if (tokens_.accept_sign("(")) arguments(*made);
    return made;
  }

  ExpressionPtr test(ExpressionPtr value) {
    const bool negated = tokens_.accept_word("not");
    const Token name = tokens_.expect(Lexeme::kName, "a test");
    auto made = make(Kind::kTest, name.line, name.text, std::move(value));
    if (tokens_.accept_sign("(")) {
      arguments(*made);
    } else if (begins_argument()) {
      made->parts.push_back(postfix(primary()));
    }
    if (!negated) return made;
    return make(Kind::kUnary, name.line, "not", ExpressionPtr(std::move(made)));
  }

  /// A test may take one argument without parentheses: "n is divisibleby 2".
  [[nodiscard]] bool begins_argument() const {
    if (tokens_.at(Lexeme::kString) || tokens_.at(Lexeme::kInteger) || tokens_.at(Lexeme::kReal)) return true;
    if (tokens_.at_sign("[") || tokens_.at_sign("{")) return true;
    if (!tokens_.at(Lexeme::kName)) return false;
    const std::string& word = tokens_.peek().text;
    static const std::vector<std::string> kGoesOn{"else", "or", "and", "is", "if", "in", "not", "recursive"};
    return std::find(kGoesOn.begin(), kGoesOn.end(), word) == kGoesOn.end();
  }

  ExpressionPtr filters_and_tests(ExpressionPtr value) {
    for (Links links(tokens_);; links.add()) {
      if (tokens_.accept_sign("|")) {
        value = filter(std::move(value));
      } else if (tokens_.accept_word("is")) {
        value = test(std::move(value));
      } else if (tokens_.at_sign("(") || tokens_.at_sign(".") || tokens_.at_sign("[")) {
        value = postfix(std::move(value));
      } else {
        return value;
      }
    }
  }

  TokenStream& tokens_;
};

}  // namespace

ExpressionPtr parse_expression(TokenStream& tokens, bool with_choice) {
  Parser parser(tokens);
  return with_choice ? parser.choice() : parser.either();
}

ExpressionPtr parse_tuple(TokenStream& tokens) {
  ExpressionPtr first = parse_expression(tokens);
  if (!tokens.at_sign(",")) return first;
  auto list = make(Kind::kList, first->line);
  list->parts.push_back(std::move(first));
  while (tokens.accept_sign(",")) list->parts.push_back(parse_expression(tokens));
  return list;
}

ExpressionPtr parse_filters(TokenStream& tokens, bool first_bar) {
  return Parser(tokens).filters_of(make(Kind::kName, tokens.peek().line, kCaptured), first_bar);
}

}  // namespace plimsoll::chat
