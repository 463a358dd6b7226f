#include "gui/explore/alternatives_model.h"

#include <algorithm>

#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"

namespace plimsoll::gui {
namespace {

constexpr std::size_t kMostHints = 6;

QString would_fit(const QString& more, const std::string& strategy, const QString& step) {
  const QString then = say("%1 would fit, with a step of %2").arg(QString::fromStdString(strategy), step);
  return say("With %1, %2.").arg(more, then);
}

}  // namespace

QString why_not(const AlternativeAnswer& other, const FitAnswer& answer) {
  if (!other.fits()) {
    QStringList parts;
    for (const ShortSpaceAnswer& s : other.short_of) {
      parts << say("%1 is short by %2 (needs %3)")
                   .arg(space_words(s.space), bytes_text(s.needed - s.usable), bytes_text(s.needed));
    }
    return parts.join(QStringLiteral("; "));
  }
  if (other.limited_by.empty()) {
    return say("slower by %1, needs %2 less")
        .arg(seconds_text(other.slower_seconds), bytes_text(answer.memory.front().peak - other.peak));
  }
  const double share = answer.step_seconds > 0 ? other.slower_seconds / answer.step_seconds : 0;
  const QString limit = say("limited by %1, busy %2").arg(resource_words(other.limited_by), percent_text(other.busy_fraction));
  if (share < 0.0005) return say("as fast; %1").arg(limit);
  return say("slower by %1 (%2); %3").arg(seconds_text(other.slower_seconds), percent_text(share), limit);
}

std::vector<QString> what_would_help(const FitAnswer& answer) {
  std::vector<const AlternativeAnswer*> faster;
  for (const AlternativeAnswer& other : answer.alternatives) {
    const bool gains = !answer.fits || other.step_seconds < 0.97 * answer.step_seconds;
    if (!other.fits() && gains) faster.push_back(&other);
  }
  const auto missing = [](const AlternativeAnswer* other) {
    std::int64_t bytes = 0;
    for (const ShortSpaceAnswer& s : other->short_of) bytes += (s.needed - s.usable).count;
    return bytes;
  };
  std::stable_sort(faster.begin(), faster.end(), [&](auto* a, auto* b) { return missing(a) < missing(b); });
  std::vector<QString> hints;
  for (const auto* changes : {&answer.larger, &answer.smaller}) {
    for (const ChangeAnswer& change : *changes)
      hints.push_back(would_fit(say_engine(change.what), change.strategy, bound_text(change.step_seconds, change.at_most)));
  }
  for (const AlternativeAnswer* other : faster) {
    QStringList more;
    for (const ShortSpaceAnswer& s : other->short_of)
      more << say("%1 more of %2").arg(bytes_text(s.needed - s.usable), space_words(s.space));
    hints.push_back(would_fit(more.join(say(" and ")), other->strategy, seconds_text(other->step_seconds)));
    if (hints.size() == kMostHints) break;
  }
  if (answer.fits) {
    hints.push_back(say("The step is limited by %1: what relieves it makes the step shorter.")
                        .arg(resource_words(answer.bottleneck)));
  } else {
    hints.push_back(say(
        "A shorter sequence or a smaller batch needs fewer activations; LoRA needs no gradients and states of frozen weights."));
  }
  return hints;
}

void AlternativesModel::show_verdict(const SharedVerdict& verdict) {
  beginResetModel();
  verdict_ = verdict;
  endResetModel();
}

void AlternativesModel::retranslate() {
  beginResetModel();
  endResetModel();
}

const Strategy& AlternativesModel::strategy(int row) const {
  const FitAnswer& answer = verdict_->answer();
  return row == 0 ? answer.strategy : answer.alternatives[static_cast<std::size_t>(row) - 1].choices;
}

int AlternativesModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid() || !verdict_) return 0;
  return static_cast<int>(verdict_->answer().alternatives.size()) + 1;
}

int AlternativesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString AlternativesModel::text(int row, int column) const {
  const FitAnswer& answer = verdict_->answer();
  if (row == 0) {
    if (column == kStrategy) return say_engine(answer.strategy.name);
    if (column == kStep) return seconds_text(answer.step_seconds);
    if (column == kDevice) return answer.memory.empty() ? QString() : bytes_text(answer.memory.front().peak);
    return answer.fits ? say("chosen") : say("the nearest to fitting");
  }
  const AlternativeAnswer& other = answer.alternatives[static_cast<std::size_t>(row) - 1];
  if (column == kStrategy) return say_engine(other.strategy);
  if (column == kStep) return seconds_text(other.step_seconds);
  if (column == kDevice) return bytes_text(other.peak);
  return why_not(other, answer);
}

QVariant AlternativesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !verdict_) return {};
  if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole) return text(index.row(), index.column());
  if (role == Qt::ToolTipRole) return verdict_->plan ? strategy_words(strategy(index.row())) : text(index.row(), kStrategy);
  const bool number = index.column() == kStep || index.column() == kDevice;
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft)));
  return {};
}

QVariant AlternativesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    const bool number = section == kStep || section == kDevice;
    return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft)));
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kStrategy: return say("Strategy");
    case kStep: return say("Step");
    case kDevice: return say("Device memory");
    default: return say("Why");
  }
}

}  // namespace plimsoll::gui
