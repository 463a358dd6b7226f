#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::chat {

enum class Lexeme { kData, kPrint, kPrintEnd, kBlock, kBlockEnd, kName, kInteger, kReal, kString, kSign, kEnd };

struct Token {
  Lexeme kind = Lexeme::kEnd;
  std::string text;
  int line = 1;
};

/// Cuts a template into its tokens. White space around tags is treated as transformers sets it: a block tag takes the line's
/// indentation before it and the line's end behind it along (lstrip_blocks, trim_blocks); '-' in a tag takes all white
/// space, '+' none. Throws TemplateError with the line.
std::vector<Token> read_tokens(std::string_view source);

}  // namespace plimsoll::chat
