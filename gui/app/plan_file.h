#pragma once

#include <QString>

namespace plimsoll::gui {

/// Whether the model is a finished plan, which says batch, sequence and optimizer itself.
bool is_plan_file(const QString& model);

/// Whether a file begins as plans do.
bool looks_like_plan(const QString& path);

}  // namespace plimsoll::gui
