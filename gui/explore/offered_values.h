#pragma once

#include "gui/explore/choices.h"

namespace plimsoll::gui {

// What lists of the Explore page offer: the values that the program which trains takes of whatever model, for which its own rules are
// asked about GPT-2, and the one that is chosen: what was asked for is shown, and refused in words. "" is the usual one.
QStringList offered_optimizers(const Choices& choices);
QStringList offered_precisions(const Choices& choices);
QStringList offered_zero_stages(const Choices& choices);
/// "auto", families of plimsoll's plans and published systems, which programs of their own set up, and kByHand.
QStringList offered_strategies(const Choices& choices);
bool offers_adapters(const Choices& choices);
/// Whether GPUs may share experts: the model has some, or is a file that nobody has read.
bool offers_expert_ranks(const Choices& choices);

/// In the list of strategies: one that is put together choice by choice.
inline constexpr const char* kByHand = "by hand";

/// After another program was chosen: what it does not take, or has no field for, is as usual again.
Choices with_taken_values(Choices choices);

}  // namespace plimsoll::gui
