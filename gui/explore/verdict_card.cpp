#include "gui/explore/verdict_card.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

#include "gui/explore/load_line_layout.h"
#include "gui/explore/name_links.h"
#include "gui/explore/time_bar.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"

namespace plimsoll::gui {
namespace {

constexpr std::size_t kFigures = 4;

QFont scaled(const QFont& font, double by, QFont::Weight weight) {
  QFont other = font;
  other.setPointSizeF(font.pointSizeF() * by);
  other.setWeight(weight);
  return other;
}

QString sentence_of(const FitAnswer& answer) {
  const SpaceAnswer* space = deciding_space(answer.memory);
  if (space == nullptr) return answer.fits ? say("Fits") : say("Does not fit");
  const QString where = space_words(space->space);
  if (answer.fits) {
    return say("Fits: %1 needs %2 of %3, %4 free")
        .arg(where, bytes_text(space->peak), bytes_text(space->usable), bytes_text(space->margin()));
  }
  return say("Does not fit: %1 is short by %2 (needs %3, usable %4)")
      .arg(where, bytes_text(space->peak - space->usable), bytes_text(space->peak), bytes_text(space->usable));
}

/// What of the machine, or of another program's setup, would make it fit, and at what speed.
QString would_fit_words(const std::vector<ChangeAnswer>& changes) {
  QStringList ways;
  for (const ChangeAnswer& change : changes)
    ways << say("%1 (%2 a step)").arg(say_engine(change.what), bound_text(change.step_seconds, change.at_most));
  return QStringLiteral("<b>%1</b>").arg(say("It would fit with %1.").arg(ways.join(say(" or "))));
}

/// The strategy in words; of other programs and layouts what they call it.
QString plan_words(const Verdict& verdict) {
  const FitAnswer& answer = verdict.answer();
  const QString name = say_engine(answer.strategy.name).toHtmlEscaped();
  if (verdict.plan) {
    const QString plan = QStringLiteral("<b>%1</b>: %2").arg(name, strategy_words(answer.strategy));
    return answer.larger.empty() ? plan : would_fit_words(answer.larger) + QStringLiteral("<br>") + plan;
  }
  QString text = QStringLiteral("<b>%1</b>").arg(name);
  if (!answer.smaller.empty()) text = would_fit_words(answer.smaller) + QStringLiteral("<br>") + text;
  if (!answer.setup.empty()) text += QStringLiteral(": ") + say_engine(answer.setup).toHtmlEscaped();
  if (verdict.fell_back) text += QStringLiteral("<br>") + say("Trained by PyTorch: plimsoll's own step has no kernels for this model.");
  if (verdict.ranks > 1) {
    text += QStringLiteral("<br>") + say("The pipeline waits %1 of its passes; memory is that of the fullest of its %2 ranks.")
                                         .arg(percent_text(answer.bubble_fraction)).arg(verdict.ranks);
  }
  return text;
}

/// The same parts as of a plan's step; collectives that nothing hides count as transfers, all other waits as idle. Another program's phases
/// have its collectives in them.
StepBreakdown phases_of(const FitAnswer& answer) {
  StepBreakdown step{.duration = from_seconds(answer.step_seconds)};
  const auto part = [&](TimePart which) -> Nanoseconds& { return step.parts[static_cast<std::size_t>(which)]; };
  part(TimePart::kForward) = from_seconds(answer.phases.forward_seconds);
  part(TimePart::kBackward) = from_seconds(answer.phases.backward_seconds);
  part(TimePart::kOptimizer) = from_seconds(answer.phases.optimizer_seconds);
  const bool another_program = !answer.setup.empty();  // a layout of ours is of Megatron's kind, and has no setup
  const double collectives = another_program ? 0 : answer.phases.exposed_communication_seconds;
  part(TimePart::kTransfer) = from_seconds(answer.phases.exposed_transfer_seconds + collectives);
  Nanoseconds known(0);
  for (const Nanoseconds time : step.parts) known += time;
  part(TimePart::kIdle) = std::max(Nanoseconds(0), step.duration - known);
  return step;
}

}  // namespace

VerdictCard::VerdictCard(QWidget* parent)
    : QFrame(parent), theme_(light_theme()), sentence_(new QLabel), working_label_(new QLabel), plan_(new QLabel),
      numbers_(new QWidget), time_bar_(new TimeBar) {
  setProperty("card", true);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(18, 14, 18, 14);
  column->setSpacing(8);
  auto* top = new QHBoxLayout;
  sentence_->setFont(scaled(font(), 1.55, QFont::DemiBold));
  sentence_->setWordWrap(true);
  sentence_->setObjectName("sentence");
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  working_label_->setProperty("quiet", true);
  working_label_->setObjectName("working");
  top->addWidget(sentence_, 1);
  top->addWidget(working_label_, 0, Qt::AlignTop);
  column->addLayout(top);
  plan_->setProperty("quiet", true);
  plan_->setWordWrap(true);
  plan_->setObjectName("plan");
  plan_->setTextFormat(Qt::RichText);
  plan_->setTextInteractionFlags(Qt::TextBrowserInteraction | Qt::LinksAccessibleByKeyboard);
  connect(plan_, &QLabel::linkActivated, this, &VerdictCard::nameTaken);
  column->addWidget(plan_);
  auto* row = new QHBoxLayout(numbers_);
  row->setContentsMargins(0, 6, 0, 4);
  row->setSpacing(28);
  for (std::size_t i = 0; i < kFigures; ++i) figures_.push_back(add_figure(*row));
  row->addStretch();
  column->addWidget(numbers_);
  column->addWidget(time_bar_);
}

VerdictCard::Figure VerdictCard::add_figure(QHBoxLayout& row) const {
  Figure figure{new QLabel, new QLabel, new QLabel};
  auto* tile = new QVBoxLayout;
  tile->setSpacing(0);
  figure.name->setProperty("quiet", true);
  figure.note->setProperty("quiet", true);
  figure.value->setFont(scaled(font(), 1.45, QFont::DemiBold));
  figure.value->setTextInteractionFlags(Qt::TextSelectableByMouse);
  for (QLabel* label : {figure.name, figure.value, figure.note}) tile->addWidget(label);
  row.addLayout(tile);
  return figure;
}

QString VerdictCard::sentence() const { return sentence_->text(); }

void VerdictCard::show_verdict(const SharedVerdict& verdict, double tokens) {
  verdict_ = verdict;
  tokens_ = tokens;
  error_.clear();
  fill();
}

void VerdictCard::show_error(const QString& text) {
  error_ = text;
  fill();
}

void VerdictCard::show_working(bool working) {
  working_ = working;
  working_label_->setText(working ? say("searching… (Esc stops)") : QString());
}

void VerdictCard::apply_theme(const Theme& theme) {
  theme_ = theme;
  time_bar_->apply_theme(theme);
  fill();
}

void VerdictCard::retranslate() {
  time_bar_->retranslate();
  show_working(working_);
  fill();
}

void VerdictCard::set_figure(std::size_t index, const QString& name, const QString& value, const QString& note) {
  figures_[index].name->setText(name);
  figures_[index].value->setText(value);
  figures_[index].note->setText(note);
}

void VerdictCard::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  keep_height();
}

void VerdictCard::keep_height() { setMinimumHeight(layout()->hasHeightForWidth() ? layout()->heightForWidth(width()) : 0); }

void VerdictCard::fill() {
  show_parts();
  keep_height();
}

void VerdictCard::show_parts() {
  const bool shown = verdict_ && error_.isEmpty();
  numbers_->setVisible(shown);
  time_bar_->setVisible(shown);
  QPalette colored = palette();
  if (!error_.isEmpty() || !verdict_) {
    sentence_->setText(error_.isEmpty() ? QString() : say("No verdict"));
    plan_->setText(with_name_links(say_engine(error_.toStdString())));
    colored.setColor(QPalette::WindowText, theme_.warning);
    sentence_->setPalette(colored);
    return;
  }
  const FitAnswer& answer = verdict_->answer();
  sentence_->setText(sentence_of(answer));
  colored.setColor(QPalette::WindowText, answer.fits ? theme_.good : theme_.bad);
  sentence_->setPalette(colored);
  plan_->setText(plan_words(*verdict_));
  fill_figures(answer);
  time_bar_->show_step(verdict_->plan ? verdict_->plan->prediction.breakdown : phases_of(answer));
}

void VerdictCard::fill_figures(const FitAnswer& answer) {
  set_figure(0, say("step time"), seconds_text(answer.step_seconds),
             say("%1 to %2").arg(seconds_text(answer.step_seconds_low), seconds_text(answer.step_seconds_high)));
  set_figure(1, say("tokens a second"), number_text(answer.tokens_per_second),
             say("%1 TFLOP/s of model arithmetic").arg(number_text(answer.model_tflops_per_gpu)));
  set_figure(2, say("limited by"), resource_words(answer.bottleneck),
             say("busy %1 of the step").arg(percent_text(answer.bottleneck_busy_fraction)));
  if (tokens_ > 0) {
    set_figure(3, say("%1 tokens take").arg(count_text(tokens_)), seconds_text(tokens_ / answer.tokens_per_second), QString());
  } else {
    set_figure(3, say("a day trains"), say("%1 tokens").arg(count_text(answer.tokens_per_second * 86400)), QString());
  }
}

}  // namespace plimsoll::gui
