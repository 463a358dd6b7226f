#pragma once

#include <QColor>

#include <string_view>
#include <vector>

#include "core/platform/platform.h"
#include "core/trace/summarize.h"

namespace plimsoll::gui {

/// The colours of the window. One thing has one colour on every page: a category of memory, a queue, a part of a step.
/// Hues are those that colour-blind readers tell apart (Okabe and Ito 2008), with lightness fitted to the background.
struct Theme {
  bool dark = false;
  QColor window;      ///< behind everything
  QColor panel;       ///< cards and fields
  QColor raised;      ///< hovered, selected
  QColor border;
  QColor text;
  QColor faint_text;  ///< units, notes; still 4.5 : 1 against panel and window
  QColor accent;      ///< what can be acted on
  QColor good;        ///< fits
  QColor warning;     ///< fits within the uncertainty
  QColor bad;         ///< does not fit
  QColor grid;        ///< lines of charts

  /// Of a category of memory as answers, plans and run files name it: "parameters", "gradients", "optimizer",
  /// "first_moments", "activations", "workspace", "framework", …; others are grey.
  [[nodiscard]] QColor category(std::string_view name) const;
  /// Of what a queue does: arithmetic, copies, the drive, the CPU, communication.
  [[nodiscard]] QColor queue(QueueKind kind) const;
  /// Of a part of a step's time: forward, backward, optimizer, transfer, …
  [[nodiscard]] QColor part(TimePart part) const;
  /// The n-th of the colours that are told apart best, for series without a meaning of their own.
  [[nodiscard]] QColor series(std::size_t n) const;
};

Theme light_theme();
Theme dark_theme();

/// Contrast of two colours as WCAG 2 defines it, 1 to 21.
double contrast(const QColor& one, const QColor& other);

}  // namespace plimsoll::gui
