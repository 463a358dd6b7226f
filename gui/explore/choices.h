#pragma once

#include <QHash>
#include <QString>
#include <QStringList>

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
  QString os;                 ///< "wsl2", "windows"; empty: Linux
  bool desktop = false;       ///< the GPU drives a desktop too
  std::int64_t batch = 1;
  std::int64_t accumulate = 1;
  std::int64_t sequence = 0;  ///< 0: the model's usual
  QString precision;          ///< empty: what is best on the GPU
  QString optimizer = QStringLiteral("adamw");
  std::int64_t lora_rank = 0; ///< 0: everything is trained
  QString lora_targets;       ///< the matrices that have adapters, "q,v"; empty: the usual
  int base_bits = 0;          ///< of a frozen model: 4, 8, 16; 0: as it is computed with
  QString strategy = QStringLiteral("auto");  ///< "auto", a family or a system; of no meaning where `exact` is set
  std::optional<Strategy> exact;              ///< this very strategy
  double tokens = 0;          ///< of the whole training; 0: not said
  QString stack = QStringLiteral("plimsoll");  ///< the program that trains
  QString modules;            ///< whose layers another stack runs; empty: the usual ones
  QString preferences;        ///< what is learned from under TRL: "dpo", "kto", "grpo" (vLLM writes beside it); empty: texts
  bool compile = false;       ///< torch.compile
  QString recompute;          ///< of another stack or a layout: none, selective, full; empty: none, or open
  QString zero;               ///< "0" … "3"; empty: 0, or open
  QString offload;            ///< of another stack: "params:cpu,optimizer:cpu"
  std::int64_t tensor_ranks = 0;  ///< GPUs that share each layer; 0: one, or open
  std::int64_t stages = 0;        ///< of a pipeline; 0: one, or open
  std::int64_t expert_ranks = 0;  ///< GPUs that share the experts; 0: one, or open
  bool sequence_parallel = false; ///< of Megatron-LM: tensor ranks share rows where they do not share layers
  std::int64_t global_batch = 0;  ///< sequences of a step over all GPUs; 0: one a GPU
  QString network;            ///< between nodes of several GPUs: "25GB/s"; empty: what such boards are sold with
  QString more;               ///< further options of `fit`, as they are typed: "--attention flash --fused-head"
  QStringList file_notes;     ///< of the training file that these are from: its name, what it left open, what of it is not read
  QStringList layout;         ///< this very layout of several GPUs, as options of `fit`; empty: it is looked for

  bool operator==(const Choices&) const = default;
};

/// Whether the plimsoll program is asked: it answers for other programs' rules and for layouts of several GPUs.
bool asks_program(const Choices& choices);

/// Whether that program can learn from preferences, as TRL's trainers do.
bool may_prefer(const Choices& choices);

/// Whether the program's layers and loop are its own (Megatron-LM, llm.c): nothing is chosen of modules, compiling and offloading.
bool has_own_layers(const Choices& choices);

/// The same, trained by PyTorch.
Choices under_pytorch(Choices choices);

/// With the GPU of that name, and as many as a number before it says: "8x A100".
Choices with_gpus(Choices choices, const QString& named);

/// What `plimsoll fit` is asked so, model first; `export` and `plan` take the same.
QStringList fit_options(const Choices& choices);

/// The choices that options of the command line change; an error names the option.
Result<Choices> with_options(Choices choices, const QHash<QString, QString>& options);

/// A count as people write it: "300B", "1.5M", "20000". Nothing when it is none.
std::optional<double> parse_count(QString text);

}  // namespace plimsoll::gui
