#pragma once

#include <QString>

#include <string_view>

#include "core/base/quantity.h"
#include "core/plan/strategy.h"

namespace plimsoll::gui {

/// "5.61 GiB" with the window's decimal sign; negative sizes have a minus.
QString bytes_text(Bytes bytes);
/// "3.12 s", "14.2 ms"; "2.4 days" of what takes longer than two hours.
QString seconds_text(double seconds);
/// "1.56 B", "124.4 M".
QString count_text(double count);
/// "12,345.6": three digits behind the point of small numbers, none of large ones.
QString number_text(double number);
/// "≤ 3.12 s" of a bound, else as seconds_text.
QString bound_text(double seconds, bool at_most);
/// "85 %".
QString percent_text(double fraction);
/// "+2.5 ms", "−2.5 ms", "0": how much `of` changed, whose text without a sign is `size`.
QString signed_text(double of, const QString& size);

/// "Device memory", "Host memory", "SSD" for a platform's "gpu0", "host", "ssd".
QString space_words(std::string_view space);
/// "writing to the SSD" for a queue's "ssd.write".
QString resource_words(std::string_view queue);
/// "parameters", "optimizer states" for an answer's categories.
QString category_words(std::string_view category);
/// "Measured on this machine:" for an answer's kind of calibration.
QString origin_words(std::string_view kind);
/// What the strategy does, in a sentence without a stop.
QString strategy_words(const Strategy& strategy);
/// Where a tier is: "on the device".
QString tier_words(Tier tier);

}  // namespace plimsoll::gui
