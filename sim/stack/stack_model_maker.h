#pragma once

#include <functional>
#include <memory>

#include "core/model/dtype.h"

namespace plimsoll {

class StackModel;
class Tape;

/// Makes a model on a tape, with parameters of that type.
using StackModelMaker = std::function<std::unique_ptr<StackModel>(Tape&, DType weights)>;

}  // namespace plimsoll
