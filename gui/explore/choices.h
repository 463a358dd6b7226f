#pragma once

#include <QHash>
#include <QString>

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/plan/strategy.h"

namespace plimsoll::gui {

/// Everything that a user chooses on the Explore page. A text that is empty means "the usual".
struct Choices {
  QString model = QStringLiteral("gpt2-xl");
  QString gpu = QStringLiteral("RTX 2060 6GB");  ///< of the catalogue; "this": this computer
  int gpus = 1;
  double ram_gib = 16;
  double ssd_gb = 0;          ///< 0: no drive
  QString pcie;               ///< "3x16"; empty: the GPU's own
  double device_memory_gib = 0;  ///< cap on what of the device may be used; 0: all
  bool desktop = false;       ///< the GPU drives a desktop too
  std::int64_t batch = 1;
  std::int64_t accumulate = 1;
  std::int64_t sequence = 0;  ///< 0: the model's usual
  QString precision;          ///< empty: what is best on the GPU
  QString optimizer = QStringLiteral("adamw");
  std::int64_t lora_rank = 0; ///< 0: everything is trained
  int base_bits = 0;          ///< of a frozen model: 4, 8, 16; 0: as it is computed with
  QString strategy = QStringLiteral("auto");  ///< "auto", a family or a system; of no meaning where `exact` is set
  std::optional<Strategy> exact;              ///< this very strategy
  double tokens = 0;          ///< of the whole training; 0: not said

  bool operator==(const Choices&) const = default;
};

/// The choices that options of the command line change; an error names the option.
Result<Choices> with_options(Choices choices, const QHash<QString, QString>& options);

/// A count as people write it: "300B", "1.5M", "20000". Nothing when it is none.
std::optional<double> parse_count(QString text);

}  // namespace plimsoll::gui
