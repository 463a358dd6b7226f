#include "gui/pipelines/pipeline_painter.h"

#include <QLocale>

#include <algorithm>
#include <cmath>

#include "gui/language/say.h"
#include "gui/pipelines/pipeline_view.h"
#include "gui/timeline/time_ticks.h"
#include "gui/timeline/work_colours.h"

namespace plimsoll::gui {
namespace {

constexpr double kNumberRoom = 3;  // pixels beside a number

QString number(double value) { return QLocale().toString(value, 'g', 4); }

}  // namespace

QColor work_colour(const Theme& theme, PipelineWork work, std::uint32_t chunk) {
  const auto base = [&] {
    switch (work) {
      case PipelineWork::kForward: return theme.part(TimePart::kForward);
      case PipelineWork::kBackward: return theme.part(TimePart::kOptimizer);
      case PipelineWork::kInputGradient: return theme.series(4);
      case PipelineWork::kWeightGradient: return theme.series(1);
    }
    return theme.series(7);
  };
  // Stages of a rank alternate between the plain colour and a paler one, as papers print chunks.
  const double share = chunk == 0 ? 1.0 : std::max(0.62 - 0.12 * (chunk - 1), 0.38);
  return QColor::fromRgb(mix(theme.panel.rgb(), base().rgb(), share));
}

PipelinePainter::PipelinePainter(QPainter& painter, const TimedPipeline& pipeline, const Theme& theme, const TimeScale& scale,
                                 const PipelineRows& rows, const QSize& size)
    : painter_(painter), pipeline_(pipeline), theme_(theme), scale_(scale), rows_(rows), size_(size) {}

void PipelinePainter::paint(const std::optional<QPointF>& pointer) {
  const std::vector<PipelineBox> boxes = pipeline_boxes(pipeline_, scale_, rows_);
  painter_.save();
  painter_.setClipRect(QRectF(0, kTop, size_.width(), size_.height() - kTop));
  paint_rows();
  painter_.setClipRect(QRectF(scale_.left, kTop, scale_.width, size_.height() - kTop));
  paint_boxes(boxes);
  painter_.restore();
  paint_columns();
  paint_axis();
  if (!pointer) return;
  if (const auto box = box_at(boxes, pointer->x(), pointer->y())) paint_hint(*box);
}

void PipelinePainter::paint_axis() {
  painter_.setPen(theme_.faint_text);
  const double units = pipeline_.costs.ticks_per_unit;
  TimeScale in_units = scale_;
  in_units.begin /= units;
  in_units.ns_per_pixel /= units;
  constexpr double kTickPixels = 64;
  const double least = in_units.ns_per_pixel * kTickPixels;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  const double step = least <= power ? power : least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
  for (const double time : tick_times(in_units, step)) {
    const double x = std::round(in_units.x_of(time)) + 0.5;
    painter_.drawLine(QPointF(x, kTop - 7), QPointF(x, kTop - 3));
    painter_.drawText(QRectF(x - 30, kTop - 26, 60, 16), Qt::AlignCenter, number(time));
  }
}

void PipelinePainter::paint_rows() {
  for (std::size_t rank = 0; rank < pipeline_.schedule.ranks(); ++rank) {
    const double top = rows_.top_of(rank);
    const double height = rows_.height - rows_.gap;
    if (top + height < 0 || top > size_.height()) continue;
    painter_.setPen(theme_.text);
    painter_.drawText(QRectF(10, top, kGutter - 14, height), Qt::AlignLeft | Qt::AlignVCenter, say("Rank %1").arg(rank));
    painter_.fillRect(QRectF(scale_.left, top, scale_.width, height), theme_.window);
  }
}

void PipelinePainter::paint_boxes(const std::vector<PipelineBox>& boxes) {
  for (const PipelineBox& box : boxes) {
    const PipelineOp& op = pipeline_.schedule.orders[box.rank][box.index];
    const QColor colour = work_colour(theme_, op.work, box.chunk);
    const double gap = box.right - box.left > 5 ? 1 : 0;
    const QRectF area(box.left, box.top, std::max(box.right - box.left - gap, 0.7), box.bottom - box.top);
    painter_.fillRect(area, colour);
    const QString text = QString::number(op.micro_batch.index);
    if (painter_.fontMetrics().horizontalAdvance(text) + kNumberRoom > area.width() || area.height() < 11) continue;
    painter_.setPen(text_on(colour));
    painter_.drawText(area, Qt::AlignCenter, text);
  }
}

void PipelinePainter::paint_columns() {
  const double left = scale_.left + scale_.width + 16;
  const double bar = 92;
  painter_.setPen(theme_.faint_text);
  painter_.drawText(QRectF(left, 2, bar + 40, 30), Qt::AlignLeft | Qt::AlignBottom | Qt::TextWordWrap, say("Peak activations"));
  painter_.drawText(QRectF(left + bar + 40, 2, kColumns - bar - 72, 30), Qt::AlignRight | Qt::AlignBottom, say("Weights"));
  painter_.save();
  painter_.setClipRect(QRectF(left, kTop, kColumns, size_.height() - kTop));
  const double most = std::max(*std::max_element(pipeline_.peak_activations.begin(), pipeline_.peak_activations.end()), 1e-9);
  for (std::size_t rank = 0; rank < pipeline_.schedule.ranks(); ++rank) {
    const double top = rows_.top_of(rank);
    const double height = rows_.height - rows_.gap;
    const double share = pipeline_.peak_activations[rank] / most;
    painter_.fillRect(QRectF(left, top + height * 0.25, bar, height * 0.5), theme_.window);
    painter_.fillRect(QRectF(left, top + height * 0.25, bar * share, height * 0.5), theme_.category("activations"));
    painter_.setPen(theme_.text);
    painter_.drawText(QRectF(left + bar + 8, top, 46, height), Qt::AlignLeft | Qt::AlignVCenter,
                      number(pipeline_.peak_activations[rank]));
    painter_.drawText(QRectF(left + bar + 40, top, kColumns - bar - 72, height), Qt::AlignRight | Qt::AlignVCenter,
                      QStringLiteral("× %1").arg(pipeline_.weight_versions[rank]));
  }
  painter_.restore();
}

QString PipelinePainter::hint_of(const PipelineBox& box) const {
  const PipelineOp& op = pipeline_.schedule.orders[box.rank][box.index];
  const OpTime& time = pipeline_.timing.ops[box.rank][box.index];
  const QString from = number(pipeline_.costs.units(time.begin));
  const QString to = number(pipeline_.costs.units(time.end));
  return say("%1 · stage %2 · micro-batch %3 · %4 to %5")
      .arg(QString::fromStdString(to_text(op)))
      .arg(op.stage.index)
      .arg(op.micro_batch.index)
      .arg(from, to);
}

void PipelinePainter::paint_hint(const PipelineBox& box) {
  const QString text = hint_of(box);
  const double width = painter_.fontMetrics().horizontalAdvance(text) + 16;
  const double x = std::clamp((box.left + box.right - width) / 2, 4.0, std::max(size_.width() - width - 4, 4.0));
  const double y = box.bottom + 30 > size_.height() ? box.top - 28 : box.bottom + 5;
  painter_.setPen(QPen(theme_.border, 1));
  painter_.setBrush(theme_.raised);
  painter_.drawRoundedRect(QRectF(x, y, width, 22), 4, 4);
  painter_.setPen(theme_.text);
  painter_.drawText(QRectF(x, y, width, 22), Qt::AlignCenter, text);
  painter_.setBrush(Qt::NoBrush);
  painter_.drawRect(QRectF(box.left, box.top, box.right - box.left - 1, box.bottom - box.top));
}

}  // namespace plimsoll::gui
