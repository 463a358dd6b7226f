#pragma once

#include <QString>
#include <QStringList>

#include <cstdint>

namespace plimsoll::gui {

/// What is to be trained, on what, and for how long.
struct RunChoices {
  QString model = QStringLiteral("gpt:layers=4,hidden=256,heads=4,vocab=256,positions=128");  ///< or a plan file
  QString data;                  ///< a text, token, record or image file
  QString folder;                ///< where run files go
  QString backend = QStringLiteral("cpu");  ///< or cuda: the GPU that is here, with all its memory
  std::int64_t steps = 100;
  std::int64_t batch = 4;
  std::int64_t accumulate = 1;
  std::int64_t sequence = 0;     ///< 0: the model's usual
  double device_memory_mib = 64; ///< of the arena that plays the device
  double ram_gib = 1;
  QString optimizer = QStringLiteral("adamw");
  double learning_rate = 0;      ///< 0: the optimizer's own

  bool operator==(const RunChoices&) const = default;
};

/// The arguments after `plimsoll run`, with the run file.
QStringList run_arguments(const RunChoices& choices, const QString& run_file);

/// A file name for a new run in the choices' folder, of the model and the moment.
QString new_run_file(const RunChoices& choices);

}  // namespace plimsoll::gui
