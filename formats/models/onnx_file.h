#pragma once

#include <string>

#include "core/base/result.h"
#include "formats/models/onnx_graph.h"

namespace plimsoll {

/// Whether a name ends as ONNX files do.
bool names_onnx_file(const std::string& name);

/// Reads the graph of an .onnx file. Weights are passed over wherever they lie, so that memory is that of the graph. A file that is
/// cut off, damaged or no ONNX is an error that names the byte.
Result<OnnxGraph> read_onnx(const std::string& path);

}  // namespace plimsoll
