#include <QComboBox>
#include <QLabel>
#include <QLocale>
#include <QStackedWidget>
#include <QToolButton>

#include <algorithm>
#include <cmath>

#include "gui/compare/compare_page.h"
#include "gui/compare/split_chart.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"
#include "gui/timeline/time_ticks.h"
#include "gui/timeline/timeline_view.h"

// What ComparePage shows and says of a pair of steps.

namespace plimsoll::gui {
namespace {

QString duration(std::int64_t ns) { return QString::fromStdString(duration_text(static_cast<double>(ns))); }

QString change_text(std::int64_t from, std::int64_t to) {
  if (from == 0) return QStringLiteral("–");
  const double share = 100.0 * static_cast<double>(to - from) / static_cast<double>(from);
  return signed_text(share, QLocale().toString(std::abs(share), 'f', 1) + QStringLiteral(" %"));
}

QString kind_word(const Timeline& timeline) {
  return timeline.kind == TraceKind::kPredicted ? say("predicted") : say("measured");
}

/// What stands before the tracks of each: which world, or which of two from one.
std::pair<QString, QString> words_of(const ComparedSteps& steps) {
  if (steps.first->kind == steps.second->kind) return {say("First"), say("Second")};
  return {kind_word(*steps.first), kind_word(*steps.second)};
}

}  // namespace

void ComparePage::take(const SharedSteps& steps) {
  steps_ = steps;
  stack_->setCurrentIndex(1);
  const auto origin = [](const Timeline& timeline, std::uint32_t step) {
    const StepMark* mark = timeline.step(step);
    return mark == nullptr ? 0.0 : static_cast<double>(mark->begin);
  };
  const auto [first, second] = words_of(*steps);
  view_->set_scene(lay_out({{steps->first, origin(*steps->first, steps->first_step), first.toStdString()},
                            {steps->second, origin(*steps->second, steps->second_step), second.toStdString()}}));
  classes_->show_steps(steps);
  ops_->show_steps(steps);
  chart_->show_steps(steps);
  show_whole();
  tell();
}

void ComparePage::show_whole() {
  if (steps_ == nullptr) return;
  view_->show_range(0, static_cast<double>(std::max(steps_->step_time(false), steps_->step_time(true))), 0.97);
}

void ComparePage::tell() {
  if (steps_ == nullptr) return;
  const std::int64_t first = steps_->step_time(false);
  const std::int64_t second = steps_->step_time(true);
  QString text = QStringLiteral("<span style='font-size:15pt; font-weight:600'>%1</span>").arg(change_text(first, second));
  text += QStringLiteral("<br>") +
          say("The step took %1 in the first trace and %2 in the second.").arg(duration(first), duration(second));
  if (steps_->comparison && steps_->comparison->untraced_error()) {  // events make a GPU's steps longer
    const std::int64_t untraced = steps_->comparison->untraced_step.count, told = steps_->comparison->untraced_predicted.count;
    text += QStringLiteral(" ") +
            say("Steps that kept no events took %1 (%2).").arg(duration(untraced), change_text(told, untraced));
  }
  if (!steps_->ops.empty()) {
    text += QStringLiteral(" ") +
            say("%1 % of its operations are matched.").arg(QLocale().toString(100 * steps_->matched(), 'f', 1));
  }
  if (!steps_->comparison) {
    text += QStringLiteral("<br><span style='color:%1'>%2</span>")
                .arg(theme_.warning.name(),
                     say("Not split into parts: %1").arg(say_engine(steps_->refused).toHtmlEscaped()));
  }
  summary_->setText(text);
  chart_->setVisible(steps_->comparison.has_value());
  first_button_->setEnabled(!steps_->ops.empty());
  worst_button_->setEnabled(!steps_->ops.empty());
  if (!view_->state().selected) {
    selected_->setText(steps_->ops.empty()
                           ? say("The two are of different plans, so that their operations are not matched one by one.")
                           : say("Click an operation to see it in both steps."));
  }
  tell_memory();
}

void ComparePage::tell_memory() {
  if (!steps_->comparison) return memory_->clear();
  if (steps_->comparison->memory.empty()) {
    memory_->setText(say("Not both traces tell their peak memory."));
    return;
  }
  QString table =
      QStringLiteral(
          "<table width='100%' cellspacing='0' cellpadding='2'><tr style='color:%1'><td>%2</td><td align='right'>%3</td>"
          "<td align='right'>%4</td><td align='right'>%5</td></tr>")
          .arg(theme_.faint_text.name(), say("Peak memory"), say("First"), say("Second"), say("Second − first"));
  const auto add = [&](const QString& name, Bytes first, Bytes second, bool heading) {
    const Bytes change = second - first;
    const QString row = heading ? QStringLiteral("<tr style='font-weight:600'>") : QStringLiteral("<tr>");
    table += row + QStringLiteral("<td>%1</td><td align='right'>%2</td><td align='right'>%3</td><td align='right'>%4</td></tr>")
                       .arg(name, bytes_text(first), bytes_text(second), signed_text(static_cast<double>(change.count), bytes_text(Bytes(std::abs(change.count)))));
  };
  for (const ComparedMemory& memory : steps_->comparison->memory) {
    if (memory.predicted.count == 0 && memory.measured.count == 0) continue;
    add(space_words(memory.space), memory.predicted, memory.measured, true);
    for (const auto& category : memory.by_category) {
      add(category_words(to_text(category.kind)), category.predicted, category.measured, false);
    }
  }
  memory_->setText(table + QStringLiteral("</table>"));
}

QString ComparePage::op_text(std::uint32_t instruction) const {
  const auto op =
      std::find_if(steps_->ops.begin(), steps_->ops.end(), [&](const MatchedOp& o) { return o.instruction == instruction; });
  if (op == steps_->ops.end()) return {};
  QString text =
      QStringLiteral("<b>%1</b> #%2: ").arg(QString::fromStdString(steps_->first->name_of(instruction))).arg(instruction);
  text += say("%1 in the first trace, %2 in the second (%3)")
              .arg(duration(op->first_duration), duration(op->second_duration),
                   change_text(op->first_duration, op->second_duration));
  if (op->in_both()) {
    const std::int64_t later = *op->second_start - *op->first_start;
    text += QStringLiteral(" · ") +
            (later >= 0 ? say("starts %1 later").arg(duration(later)) : say("starts %1 earlier").arg(duration(-later)));
  }
  return text;
}

void ComparePage::show_pair(const SceneEvent& clicked) {
  const Timeline& own = clicked.source == 0 ? *steps_->first : *steps_->second;
  const LaneEvent event = event_at(own, clicked.ref);
  const bool of_first = clicked.source == 0;
  const Timeline& other = of_first ? *steps_->second : *steps_->first;
  const std::uint32_t other_step =
      event.step + (of_first ? steps_->second_step - steps_->first_step : steps_->first_step - steps_->second_step);
  const auto twin = steps_->ops.empty() ? std::nullopt : find_event(other, other_step, event.label);
  std::vector<SceneEvent> before;
  std::vector<SceneEvent> after;
  if (twin) (of_first ? after : before).push_back({of_first ? 1u : 0u, *twin});
  view_->set_links(std::move(before), std::move(after));
  if (!steps_->ops.empty()) selected_->setText(op_text(event.label));
}

void ComparePage::show_instruction(std::uint32_t instruction) {
  if (steps_ == nullptr) return;
  const auto second = find_event(*steps_->second, steps_->second_step, instruction);
  const auto first = find_event(*steps_->first, steps_->first_step, instruction);
  if (!first && !second) return;
  const SceneEvent shown = second ? SceneEvent{1, *second} : SceneEvent{0, *first};
  selecting_ = true;
  view_->select(shown, true);
  selecting_ = false;
  show_pair(shown);
}

void ComparePage::go_worst() {
  if (steps_ == nullptr) return;
  if (const auto worst = worst_divergence(steps_->ops)) show_instruction(*worst);
}

void ComparePage::go_first() {
  if (steps_ == nullptr) return;
  const auto first = first_divergence(steps_->ops, steps_->step_time(false));
  if (first) {
    show_instruction(*first);
  } else {
    Q_EMIT said(say("No operation differs by a tenth of its time and a thousandth of the step."));
  }
}

QString ComparePage::told() const { return summary_->text() + selected_->text() + memory_->text(); }

}  // namespace plimsoll::gui
