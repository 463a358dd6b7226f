#pragma once

#include <string>

#include "formats/training/training_answer.h"

namespace plimsoll {

/// "3.2 days", "355 years", "41.5 min": a long time for people.
std::string duration_text(double seconds);

/// "300 B", "1.28 M": a count for people.
std::string amount_text(double count);

/// "1.40 TB": bytes in decimal units, as drives are sold.
std::string decimal_bytes_text(double bytes);

/// Time, money, energy, wear and stages of a whole training as lines for a person.
std::string training_text(const TrainingAnswer& answer);

/// Its stages as CSV.
std::string training_csv(const TrainingAnswer& answer);

}  // namespace plimsoll
