#include "gui/theme/theme.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll::gui {
namespace {

/// Hues of Okabe and Ito by what they are called; the order is that of `series`.
enum Hue { kBlue, kOrange, kGreen, kPurple, kSky, kVermilion, kYellow, kGrey };

constexpr std::array<std::array<const char*, 8>, 2> kHues{{
    {"#0072b2", "#c98500", "#00866a", "#b0588a", "#2f8fc6", "#c8540a", "#a08a00", "#7b828c"},  // on light ground
    {"#4ea1e0", "#f0a830", "#2fc39a", "#d98fb8", "#7cc7f2", "#f07c3c", "#e3d255", "#9aa2ad"},  // on dark ground
}};

QColor hue(bool dark, Hue which) { return QColor(kHues[dark ? 1 : 0][which]); }

Hue hue_of_category(std::string_view name) {
  struct Named {
    std::string_view begins;
    Hue hue;
  };
  constexpr std::array kNamed{Named{"parameter", kBlue},  Named{"gradient", kOrange},        Named{"accumulator", kOrange},
                              Named{"optimizer", kGreen}, Named{"master", kGreen},           Named{"first_moment", kGreen},
                              Named{"second_moment", kGreen}, Named{"activation_gradient", kVermilion}, Named{"activation", kPurple},
                              Named{"workspace", kYellow},    Named{"token", kSky}};
  const auto found = std::find_if(kNamed.begin(), kNamed.end(), [&](const Named& named) { return name.starts_with(named.begins); });
  return found == kNamed.end() ? kGrey : found->hue;
}

/// Relative luminance of WCAG 2.
double luminance(const QColor& color) {
  const auto linear = [](double part) { return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

}  // namespace

QColor Theme::category(std::string_view name) const {
  QColor color = hue(dark, hue_of_category(name));
  // What is kept in parts of one category is told apart by lightness.
  if (name.starts_with("first_moment")) return dark ? color.darker(118) : color.lighter(118);
  if (name.starts_with("second_moment")) return dark ? color.darker(138) : color.lighter(136);
  return color;
}

QColor Theme::queue(QueueKind kind) const {
  switch (kind) {
    case QueueKind::kCompute: return hue(dark, kBlue);
    case QueueKind::kCopy: return hue(dark, kOrange);
    case QueueKind::kStorage: return hue(dark, kVermilion);
    case QueueKind::kHostCompute: return hue(dark, kGreen);
    case QueueKind::kHostWork: return hue(dark, kSky);
    case QueueKind::kCommunication: return hue(dark, kPurple);
  }
  return hue(dark, kGrey);
}

QColor Theme::part(TimePart part) const {
  switch (part) {
    case TimePart::kForward: return hue(dark, kBlue);
    case TimePart::kBackward: return hue(dark, kPurple);
    case TimePart::kOptimizer: return hue(dark, kGreen);
    case TimePart::kTransfer: return hue(dark, kOrange);
    case TimePart::kStorage: return hue(dark, kVermilion);
    default: return hue(dark, kGrey);
  }
}

QColor Theme::series(std::size_t n) const { return hue(dark, static_cast<Hue>(n % kHues[0].size())); }

Theme light_theme() {
  return {.dark = false, .window = "#f3f5f8", .panel = "#ffffff", .raised = "#e8eef6", .border = "#d3dae3", .text = "#1b2430",
          .faint_text = "#5a6573", .accent = "#0b66b5", .good = "#0a7d54", .warning = "#8f6000", .bad = "#c0321f",
          .grid = "#e4e9ef"};
}

Theme dark_theme() {
  return {.dark = true, .window = "#14181e", .panel = "#1c222a", .raised = "#293240", .border = "#363f4b", .text = "#e7ebf0",
          .faint_text = "#9fabb9", .accent = "#62aef0", .good = "#3fcf9b", .warning = "#e8b53f", .bad = "#ff7b66",
          .grid = "#2b333e"};
}

double contrast(const QColor& one, const QColor& other) {
  const double a = luminance(one), b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

}  // namespace plimsoll::gui
