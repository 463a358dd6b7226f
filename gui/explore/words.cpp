#include "gui/explore/words.h"

#include <QLocale>
#include <QStringList>

#include <array>
#include <cmath>

#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

/// Three significant places.
QString three(double value) {
  const double size = std::abs(value);
  return QLocale().toString(value, 'f', size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

struct Named {
  std::string_view name;
  const char* english;
};

template <std::size_t N>
QString words_of(const std::array<Named, N>& table, std::string_view name) {
  for (const Named& named : table) {
    if (named.name == name) return say(named.english);
  }
  return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

}  // namespace

QString bytes_text(Bytes bytes) {
  const double size = std::abs(static_cast<double>(bytes.count));
  const double sign = bytes.count < 0 ? -1 : 1;
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = size;
  while (value >= 1000 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  const QString number = unit == 0 ? QLocale().toString(bytes.count) : three(sign * value);
  return QStringLiteral("%1 %2").arg(number, QLatin1String(kUnits[unit]));
}

QString seconds_text(double seconds) {
  const double size = std::abs(seconds);
  if (size >= 2 * 86400.0) return say("%1 days").arg(three(seconds / 86400));
  if (size >= 2 * 3600.0) return say("%1 hours").arg(three(seconds / 3600));
  if (size >= 300) return say("%1 minutes").arg(three(seconds / 60));
  if (size >= 0.9995) return QStringLiteral("%1 s").arg(three(seconds));
  if (size >= 0.9995e-3) return QStringLiteral("%1 ms").arg(three(seconds * 1e3));
  return QStringLiteral("%1 µs").arg(three(seconds * 1e6));
}

QString count_text(double count) {
  if (count >= 999.5e9) return QStringLiteral("%1 T").arg(three(count * 1e-12));
  if (count >= 999.5e6) return QStringLiteral("%1 B").arg(three(count * 1e-9));
  if (count >= 999.5e3) return QStringLiteral("%1 M").arg(three(count * 1e-6));
  if (count >= 999.5) return QStringLiteral("%1 K").arg(three(count * 1e-3));
  return QLocale().toString(count, 'f', 0);
}

QString bound_text(double seconds, bool at_most) {
  return (at_most ? QStringLiteral("≤ ") : QString()) + seconds_text(seconds);
}

QString number_text(double number) {
  const double size = std::abs(number);
  return QLocale().toString(number, 'f', size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

QString signed_text(double of, const QString& size) {
  if (of == 0) return size;
  return (of > 0 ? QStringLiteral("+") : QStringLiteral("−")) + size;
}

QString percent_text(double fraction) { return QStringLiteral("%1 %").arg(QLocale().toString(100 * fraction, 'f', 0)); }

QString space_words(std::string_view space) {
  static constexpr std::array kSpaces{Named{"gpu0", to_say("Device memory")}, Named{"host", to_say("Host memory")},
                                      Named{"ssd", to_say("SSD")}};
  return words_of(kSpaces, space);
}

QString resource_words(std::string_view queue) {
  static constexpr std::array kQueues{
      Named{"compute", to_say("arithmetic of the device")},
      Named{"h2d", to_say("copies to the device")},
      Named{"d2h", to_say("copies from the device")},
      Named{"cpu", to_say("the optimizer on the CPU")},
      Named{"ssd.read", to_say("reading from the SSD")},
      Named{"ssd.write", to_say("writing to the SSD")},
      Named{"communication", to_say("communication between GPUs")},
      Named{"launches", to_say("launching kernels")},
      Named{"data", to_say("loading data")},
      Named{"report", to_say("reporting")},
      Named{"tensor and context collectives", to_say("collectives within layers")},
      Named{"gradients of data ranks", to_say("summing gradients over GPUs")},
      Named{"gathering and scattering shards", to_say("gathering and scattering shards")},
      Named{"exchanges between experts", to_say("exchanges between experts")},
      Named{"pipeline bubble", to_say("waiting for other stages")},
      Named{"waiting for slower ranks", to_say("waiting for slower ranks")},
      Named{"optimizer", to_say("the optimizer")}};
  return words_of(kQueues, queue);
}

QString category_words(std::string_view category) {
  static constexpr std::array kCategories{
      Named{"parameters", to_say("parameters")},   Named{"gradients", to_say("gradients")},
      Named{"optimizer", to_say("optimizer states")}, Named{"activations", to_say("activations")},
      Named{"workspace", to_say("workspace")},     Named{"framework", to_say("not usable")},
      Named{"activation_gradients", to_say("activation gradients")},
      Named{"slack", to_say("gaps between buffers")}, Named{"tokens", to_say("tokens")},
      Named{"accumulators", to_say("accumulators")}, Named{"master_weights", to_say("master weights")},
      Named{"first_moments", to_say("first moments")}, Named{"second_moments", to_say("second moments")},
      Named{"scalars", to_say("scalars")}};
  return words_of(kCategories, category);
}

QString origin_words(std::string_view kind) {
  static constexpr std::array kKinds{Named{"measured", to_say("Measured on this machine.")},
                                     Named{"catalogue", to_say("From published measurements of this very hardware.")},
                                     Named{"extrapolated", to_say("Extrapolated from measurements of similar hardware.")}};
  return words_of(kKinds, kind);
}

QString tier_words(Tier tier) {
  switch (tier) {
    case Tier::kDevice: return say("on the device");
    case Tier::kHost: return say("in host memory");
    case Tier::kSsd: return say("on the SSD");
  }
  return {};
}

namespace {

QString blocks_words(std::int64_t blocks) { return blocks == 1 ? say("1 block") : say("%1 blocks").arg(blocks); }

void say_optimizer(const Strategy& s, QStringList& parts) {
  parts << (s.optimizer == Tier::kDevice ? say("the device updates")
                                         : say("the CPU updates, with its states %1").arg(tier_words(s.optimizer)));
  if (s.host_state_blocks > 0) parts << say("states of %1 in host memory").arg(blocks_words(s.host_state_blocks));
  if (s.device_state_blocks > 0) parts << say("%1 updated by the device").arg(blocks_words(s.device_state_blocks));
  if (s.device_update_blocks > 0) {
    parts << say("states of %1 come to the device for their update").arg(blocks_words(s.device_update_blocks));
  }
  if (s.update_in_backward) parts << say("updates run during the backward pass");
}

void say_weights(const Strategy& s, QStringList& parts) {
  if (s.parameters != Tier::kDevice) parts << say("weights wait %1").arg(tier_words(s.parameters));
  if (s.device_parameter_blocks > 0) parts << say("those of %1 stay on the device").arg(blocks_words(s.device_parameter_blocks));
  if (s.gradients != Tier::kDevice) parts << say("gradients leave during the backward pass");
}

void say_activations(const Strategy& s, QStringList& parts) {
  if (s.recompute_every == 0) parts << say("all activations are kept");
  if (s.recompute_every == 1) parts << say("every block is recomputed");
  if (s.recompute_every > 1) parts << say("segments of %1 blocks are recomputed").arg(s.recompute_every);
  if (s.kept_outputs == 1) parts << say("but for the output of a kernel");
  if (s.kept_outputs > 1) parts << say("but for the outputs of %1 kernels").arg(s.kept_outputs);
  if (s.activations == Tier::kDevice) return;
  parts << (s.activation_blocks == 1 ? say("what 1 block keeps waits %1").arg(tier_words(s.activations))
                                     : say("what %1 blocks keep waits %2").arg(s.activation_blocks).arg(tier_words(s.activations)));
  if (s.host_activation_blocks > 0) parts << say("%1 of them in host memory").arg(s.host_activation_blocks);
}

}  // namespace

QString strategy_words(const Strategy& s) {
  QStringList parts;
  say_optimizer(s, parts);
  say_weights(s, parts);
  say_activations(s, parts);
  if (s.loop_order == LoopOrder::kBreadthFirst) parts << say("all micro-batches go block by block");
  if (s.staging_slots == 1) parts << say("1 transfer buffer");
  else if (s.staging_slots != Strategy{}.staging_slots) parts << say("%1 transfer buffers").arg(s.staging_slots);
  if (!s.overlap) parts << say("nothing overlaps");
  return parts.join(say(", "));
}

}  // namespace plimsoll::gui
