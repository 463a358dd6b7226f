#include "gui/timeline/side_panel.h"

#include <QFrame>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QScrollArea>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

QLabel* heading() {
  auto* label = new QLabel;
  label->setProperty("heading", true);
  label->setWordWrap(true);
  return label;
}

QLabel* rich() {
  auto* label = new QLabel;
  label->setTextFormat(Qt::RichText);
  label->setWordWrap(true);
  label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

QFrame* card(std::initializer_list<QWidget*> content, int stretched) {
  auto* frame = new QFrame;
  frame->setProperty("card", true);
  auto* column = new QVBoxLayout(frame);
  column->setContentsMargins(12, 10, 12, 10);
  column->setSpacing(6);
  int index = 0;
  for (QWidget* widget : content) column->addWidget(widget, index++ == stretched ? 1 : 0);
  return frame;
}

}  // namespace

SidePanel::SidePanel(QWidget* parent)
    : QWidget(parent),
      title_(heading()),
      details_(rich()),
      range_title_(heading()),
      tracks_(rich()),
      table_(new QTableView),
      model_(new StatisticsModel(this)),
      theme_(light_theme()) {
  table_->setModel(model_);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(22);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->setTextElideMode(Qt::ElideMiddle);  // "linear backward input" and "… weight" differ at the end
  table_->setSelectionMode(QAbstractItemView::NoSelection);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setIconSize(QSize(10, 10));
  table_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->horizontalHeader()->setSectionResizeMode(StatisticsModel::kName, QHeaderView::Stretch);
  auto* scrolled = new QScrollArea;
  scrolled->setWidgetResizable(true);
  scrolled->setFrameShape(QFrame::NoFrame);
  scrolled->setWidget(details_);
  scrolled->setObjectName("timeline.details");
  details_->setAutoFillBackground(false);
  scrolled->viewport()->setAutoFillBackground(false);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addWidget(card({title_, scrolled}, 1), 5);
  column->addWidget(card({range_title_, tracks_, table_}, 2), 6);
}

void SidePanel::show_details(const QString& title, const std::vector<DetailLine>& lines) {
  nothing_ = false;
  title_->setText(title);
  QString table = QStringLiteral("<table cellspacing='0' cellpadding='2' width='100%'>");
  for (const DetailLine& line : lines) {
    table += QStringLiteral("<tr><td style='color:%1; padding-right:10px'>%2</td><td>%3</td></tr>")
                 .arg(theme_.faint_text.name(), line.what, line.value);
  }
  details_->setText(table + QStringLiteral("</table>"));
}

void SidePanel::show_nothing() {
  nothing_ = true;
  title_->setText(say("Nothing selected"));
  details_->setText(
      QStringLiteral("<span style='color:%1'>%2</span>")
          .arg(theme_.faint_text.name(), say("Click an operation for its details and dependencies, click a memory curve "
                                             "for what lies there at its peak, drag to add up a stretch of time.")));
}

void SidePanel::show_tracks(const SelectionStatistics& statistics, const Timeline& timeline) {
  QString table = QStringLiteral("<table cellspacing='0' cellpadding='1' width='100%'>");
  for (const TrackStatistics& track : statistics.tracks) {
    table += QStringLiteral("<tr><td>%1</td><td align='right'>%2 %</td></tr>")
                 .arg(track_name(timeline.plan.get(), timeline.tracks[track.track].name),
                      QLocale().toString(100 * track.share, 'f', 1));
  }
  tracks_->setText(table + QStringLiteral("</table>"));
}

void SidePanel::show_statistics(const QString& title, SharedTimeline timeline, SelectionStatistics statistics) {
  range_title_->setText(title);
  show_tracks(statistics, *timeline);
  model_->show_range(std::move(timeline), std::move(statistics));
}

void SidePanel::apply_theme(const Theme& theme) {
  theme_ = theme;
  model_->apply_theme(theme);
  if (nothing_) show_nothing();
}

void SidePanel::retranslate() {
  table_->setAccessibleName(say("Time by kind of operation"));
  findChild<QScrollArea*>("timeline.details")->setAccessibleName(say("Details of what is selected"));
  model_->retranslate();
  if (nothing_) show_nothing();
}

QString SidePanel::details_text() const { return details_->text(); }

}  // namespace plimsoll::gui
