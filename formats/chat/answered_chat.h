#pragma once

#include "formats/chat/chat_template.h"

namespace plimsoll {

/// Writes a chat as text and tells where its assistants speak: as the template marks it, or else by writing the chat up to
/// each answer and up to its end, which must both be beginnings of the whole. Errors: a template of which they are not (one
/// that writes earlier answers otherwise than the last); a chat without an answer.
Result<RenderedChat> render_answers(const ChatTemplate& chat, const ChatInput& input);

}  // namespace plimsoll
