#pragma once

#include <string_view>

#include "formats/chat/syntax.h"

namespace plimsoll::chat {

/// Reads a template. TemplateError names the line and what is not known: include, import, extends, block, call.
Block parse_template(std::string_view source);

}  // namespace plimsoll::chat
