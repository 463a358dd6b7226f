#include "sim/cost/cost_model.h"

namespace plimsoll {

std::string_view to_text(CostOrigin origin) {
  switch (origin) {
    case CostOrigin::kMeasured: return "measured";
    case CostOrigin::kCatalogue: return "catalogue";
    case CostOrigin::kExtrapolated: return "extrapolated";
  }
  return "?";
}

}  // namespace plimsoll
