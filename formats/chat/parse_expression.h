#pragma once

#include "formats/chat/syntax.h"
#include "formats/chat/token_stream.h"

namespace plimsoll::chat {

/// Reads one expression; TemplateError when there is none. `with_choice`: an "a if b else c" at its top belongs to it.
ExpressionPtr parse_expression(TokenStream& tokens, bool with_choice = true);

/// Reads "a, b, c" as a list, or a single expression.
ExpressionPtr parse_tuple(TokenStream& tokens);

/// Reads the filters that follow on `captured`: "| trim | upper", or without the first bar.
ExpressionPtr parse_filters(TokenStream& tokens, bool first_bar);

}  // namespace plimsoll::chat
