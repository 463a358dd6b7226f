#pragma once

#include <optional>
#include <string>

#include "sim/answers/question.h"

namespace plimsoll {

/// What a whole training needs to know of a machine beside its steps.
struct MachineFacts {
  double gpus = 1;
  double hosts = 1;
  double writing_hosts = 1;     ///< that have a part of a checkpoint which no other has, and write it at once
  double cores = 1;             ///< of one host
  double ram_gib = 0;           ///< of one host
  bool has_gpu = false;
  std::optional<double> board_watts;  ///< of one GPU
  std::string board_origin;
  bool in_servers = false;            ///< modules of server boards (SXM), with switches, adapters and fans of their own
  double drives = 1;
  double drive_read = 0;        ///< bytes a second, all drives of a host
  double drive_write = 0;
  std::optional<double> drive_bytes;  ///< nothing when no drive was described
  std::string drive_words;      ///< where the drive's rates are from
};

/// As the question's machine is described; `gpus` are its GPUs, at most eight to a host (assumed).
MachineFacts machine_facts(const Question& question, std::int64_t gpus);

}  // namespace plimsoll
