#pragma once

#include <memory>
#include <string>

#include "executor/data/batch_source.h"

namespace plimsoll {

/// Opens the data that a model of that head learns from; errors name the file and the place in it.
Result<std::unique_ptr<BatchSource>> open_batch_source(const std::string& path, const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll
