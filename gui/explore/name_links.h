#pragma once

#include <QString>

namespace plimsoll::gui {

/// A text as HTML in which each name of a model or GPU that plimsoll knows is a link to
/// "gpu:RTX 2060 6GB" or "model:gpt2-xl": what a refusal offers is chosen by a click.
QString with_name_links(const QString& text);

}  // namespace plimsoll::gui
