#include "gui/app/page_rail.h"

#include <QToolButton>
#include <QVBoxLayout>

#include "gui/app/page_icon.h"

namespace plimsoll::gui {
namespace {

constexpr int kWidth = 92;
constexpr int kButtonHeight = 64;

}  // namespace

PageRail::PageRail(QWidget* parent) : QFrame(parent), column_(new QVBoxLayout(this)) {
  setProperty("rail", "bar");
  setFixedWidth(kWidth);
  column_->setContentsMargins(6, 10, 6, 10);
  column_->setSpacing(4);
  column_->addStretch();
  group_.setExclusive(true);
  connect(&group_, &QButtonGroup::idClicked, this, &PageRail::chosen);
}

void PageRail::add(const QString& name) {
  auto* button = new QToolButton(this);
  button->setProperty("rail", true);
  button->setObjectName(QStringLiteral("rail.") + name);
  button->setCheckable(true);
  button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
  button->setIconSize(QSize(26, 26));
  button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  button->setFixedHeight(kButtonHeight);
  button->setFocusPolicy(Qt::TabFocus);
  group_.addButton(button, static_cast<int>(buttons_.size()));
  column_->insertWidget(static_cast<int>(buttons_.size()), button);
  buttons_.push_back(button);
  names_.push_back(name);
}

void PageRail::set_titles(const std::vector<QString>& titles) {
  for (std::size_t i = 0; i < buttons_.size() && i < titles.size(); ++i) {
    buttons_[i]->setText(titles[i]);
    buttons_[i]->setAccessibleName(titles[i]);
    buttons_[i]->setToolTip(QStringLiteral("%1 (Ctrl+%2)").arg(titles[i]).arg(i + 1));
  }
}

void PageRail::apply_theme(const Theme& theme) {
  for (std::size_t i = 0; i < buttons_.size(); ++i) buttons_[i]->setIcon(page_icon(names_[i], theme));
}

void PageRail::show_page(int index) {
  if (index >= 0 && index < static_cast<int>(buttons_.size())) buttons_[static_cast<std::size_t>(index)]->setChecked(true);
}

}  // namespace plimsoll::gui
