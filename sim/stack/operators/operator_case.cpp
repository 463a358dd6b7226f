#include "sim/stack/operators/operator_case.h"

namespace plimsoll {

std::int64_t OperatorCase::size_or(std::string_view name, std::int64_t otherwise) const {
  const auto found = sizes.find(name);
  return found == sizes.end() ? otherwise : found->second;
}

}  // namespace plimsoll
