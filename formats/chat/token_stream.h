#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/chat/lexer.h"
#include "formats/chat/value.h"

namespace plimsoll::chat {

/// A template's tokens as its parsers take them, one after another. Bounds how deep a template may nest.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& peek() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }

  [[nodiscard]] bool at(Lexeme kind) const { return peek().kind == kind; }
  [[nodiscard]] bool at(Lexeme kind, std::string_view text) const { return at(kind) && peek().text == text; }
  [[nodiscard]] bool at_sign(std::string_view sign) const { return at(Lexeme::kSign, sign); }
  [[nodiscard]] bool at_word(std::string_view word) const { return at(Lexeme::kName, word); }

  /// Takes the sign or word when it comes next.
  bool accept_sign(std::string_view sign) { return at_sign(sign) && (take(), true); }
  bool accept_word(std::string_view word) { return at_word(word) && (take(), true); }

  void expect_sign(std::string_view sign) {
    if (!accept_sign(sign)) refuse(fmt::format("expected '{}'", sign));
  }
  void expect_word(std::string_view word) {
    if (!accept_word(word)) refuse(fmt::format("expected '{}'", word));
  }
  Token expect(Lexeme kind, std::string_view what) {
    if (!at(kind)) refuse(fmt::format("expected {}", what));
    return take();
  }

  [[noreturn]] void refuse(const std::string& what) const {
    const std::string found = at(Lexeme::kEnd) ? "the end" : at(Lexeme::kBlockEnd) || at(Lexeme::kPrintEnd) ? "the tag's end"
                                                                                   : fmt::format("'{}'", peek().text);
    throw TemplateError(fmt::format("line {}: {}, found {}", peek().line, what, found));
  }

  /// While it lives, one more level is open.
  class Level {
   public:
    explicit Level(TokenStream& stream) : stream_(stream) {
      if (++stream_.depth_ > kDeepest) stream_.refuse("the template nests too deep");
    }
    ~Level() { --stream_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenStream& stream_;
  };

 private:
  static constexpr int kDeepest = 200;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace plimsoll::chat
