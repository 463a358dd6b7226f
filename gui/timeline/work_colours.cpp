#include "gui/timeline/work_colours.h"

#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

QColor class_colour(const Theme& theme, WorkClass work) {
  const QColor forward = theme.part(TimePart::kForward);
  const QColor transfer = theme.part(TimePart::kTransfer);
  const QColor storage = theme.part(TimePart::kStorage);
  switch (work) {
    case WorkClass::kForward: return forward;
    case WorkClass::kBackward: return theme.part(TimePart::kBackward);
    case WorkClass::kRecompute: return theme.dark ? forward.lighter(135) : forward.lighter(190);
    case WorkClass::kOptimizer: return theme.part(TimePart::kOptimizer);
    case WorkClass::kCopyIn: return transfer;
    case WorkClass::kCopyOut: return theme.dark ? transfer.darker(135) : transfer.darker(125);
    case WorkClass::kRead: return storage;
    case WorkClass::kWrite: return theme.dark ? storage.darker(135) : storage.darker(130);
    case WorkClass::kCollective: return theme.queue(QueueKind::kCommunication);
    case WorkClass::kLoad: return theme.queue(QueueKind::kHostWork);
    case WorkClass::kKernel: return theme.queue(QueueKind::kCompute);
    case WorkClass::kOther: break;
  }
  return theme.part(TimePart::kIdle);
}

QColor toned(const Theme& theme, const QColor& colour, WorkTone tone) {
  switch (tone) {
    case WorkTone::kProduct: return colour;
    case WorkTone::kAttention: return theme.dark ? colour.darker(125) : colour.darker(128);
    case WorkTone::kRest: return QColor::fromRgb(mix(theme.panel.rgb(), colour.rgb(), 0.68));
  }
  return colour;
}

}  // namespace

WorkColours work_colours(const Theme& theme) {
  WorkColours colours{};
  for (std::size_t work = 0; work < kWorkClasses; ++work) {
    for (std::size_t tone = 0; tone < kWorkTones; ++tone) {
      const QColor colour = class_colour(theme, static_cast<WorkClass>(work));
      colours[work * kWorkTones + tone] = toned(theme, colour, static_cast<WorkTone>(tone)).rgb();
    }
  }
  return colours;
}

WorkColours paler(const WorkColours& colours, Pixel ground, double share) {
  WorkColours pale = colours;
  for (Pixel& colour : pale) colour = mix(ground, colour, share);
  return pale;
}

QColor text_on(const QColor& ground) {
  const QColor dark(0x12, 0x18, 0x20);
  return contrast(ground, dark) >= contrast(ground, Qt::white) ? dark : QColor(Qt::white);
}

QString work_name(WorkClass work) {
  switch (work) {
    case WorkClass::kForward: return say("Forward");
    case WorkClass::kBackward: return say("Backward");
    case WorkClass::kRecompute: return say("Recomputed forward");
    case WorkClass::kOptimizer: return say("Optimizer");
    case WorkClass::kCopyIn: return say("Copy to the GPU");
    case WorkClass::kCopyOut: return say("Copy from the GPU");
    case WorkClass::kRead: return say("Read from the SSD");
    case WorkClass::kWrite: return say("Write to the SSD");
    case WorkClass::kCollective: return say("Communication");
    case WorkClass::kLoad: return say("Data loading");
    case WorkClass::kKernel: return say("GPU kernel");
    case WorkClass::kOther: return say("Other work");
  }
  return say("Other work");
}

/// What rests is pale, what moves has its transfer's colour, what is in use that of arithmetic.
PlaceColours place_colours(const Theme& theme) {
  const auto over = [&](const QColor& colour, double share) { return mix(theme.panel.rgb(), colour.rgb(), share); };
  PlaceColours colours{};
  const auto set = [&](PlaceState state, Pixel pixel) { colours[static_cast<std::size_t>(state)] = pixel; };
  set(PlaceState::kDrive, over(class_colour(theme, WorkClass::kRead), 0.30));
  set(PlaceState::kHost, over(theme.text, 0.18));
  set(PlaceState::kArriving, class_colour(theme, WorkClass::kCopyIn).rgb());
  set(PlaceState::kLeaving, class_colour(theme, WorkClass::kCopyOut).rgb());
  set(PlaceState::kToDrive, class_colour(theme, WorkClass::kWrite).rgb());
  set(PlaceState::kFromDrive, class_colour(theme, WorkClass::kRead).rgb());
  set(PlaceState::kDevice, over(class_colour(theme, WorkClass::kForward), 0.45));
  set(PlaceState::kInUse, class_colour(theme, WorkClass::kForward).rgb());
  return colours;
}

QString place_name(PlaceState state) {
  switch (state) {
    case PlaceState::kDrive: return say("on the SSD");
    case PlaceState::kHost: return say("in host memory");
    case PlaceState::kArriving: return say("on its way to the device");
    case PlaceState::kLeaving: return say("on its way from the device");
    case PlaceState::kToDrive: return say("on its way to the SSD");
    case PlaceState::kFromDrive: return say("on its way from the SSD");
    case PlaceState::kDevice: return say("held on the device");
    case PlaceState::kInUse: return say("in use");
  }
  return {};
}

QString track_name(const Plan* plan, const std::string& queue) {
  if (queue == "compute") {
    const bool gpu =
        plan != nullptr && !plan->platform.processors.empty() && plan->platform.processors[0].kind == ProcessorKind::kGpu;
    return gpu ? say("GPU compute") : say("Compute");
  }
  if (queue == "h2d") return say("Host → GPU");
  if (queue == "d2h") return say("GPU → host");
  if (queue == "cpu") return say("CPU optimizer");
  if (queue == "ssd.read") return say("SSD read");
  if (queue == "ssd.write") return say("SSD write");
  if (queue == "data") return say("Data loading");
  if (queue == "report") return say("Reports");
  if (queue == "communication") return say("Collectives");
  return QString::fromStdString(queue);
}

}  // namespace plimsoll::gui
