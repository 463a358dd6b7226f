#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answers/question.h"

namespace plimsoll {

/// What a change does to the training beside its time.
enum class ChangeEffect : std::uint8_t {
  kTime,      ///< nothing: the same losses to the bit on one backend
  kRounding,  ///< the same training, summed in another order
  kTraining,  ///< another training: other losses
};

/// Something that would have to be bought.
struct Purchase {
  std::string item;  ///< "ram" (a GiB), "ssd" (a TB), "mainboard", "cpu", or a GPU's name
  double amount = 1;
};

/// One change of a question, and the question that comes of it.
struct Change {
  std::string kind;  ///< "RAM", "drive", "link", "CPU", "GPU", "system", "training", "software"
  std::string name;  ///< in words: "64 GiB of RAM"
  ChangeEffect effect = ChangeEffect::kTime;
  std::vector<Purchase> purchases;
  Question question;
};

/// Every single change that makes sense of the question, hardware first. What the machine or the stack cannot take is left out.
std::vector<Change> list_changes(const Question& question);

/// The parts of that list (list_changes puts them together).
void add_machine_changes(const Question& question, std::vector<Change>& changes);
void add_gpu_changes(const Question& question, std::vector<Change>& changes);
void add_training_changes(const Question& question, std::vector<Change>& changes);
void add_software_changes(const Question& question, std::vector<Change>& changes);

std::string_view to_text(ChangeEffect effect);

}  // namespace plimsoll
