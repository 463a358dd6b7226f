#include "formats/models/onnx_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "formats/wire/proto_fields.h"

namespace plimsoll {
namespace {

// Field numbers: onnx.proto of ONNX 1.x; a number's meaning never changes there.
constexpr std::size_t kMostNumbers = 4096;      // of a constant that decides shapes
constexpr std::size_t kMostNodes = 1'000'000;
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

template <typename Number>
void unpack(const std::string& raw, std::vector<std::int64_t>& out) {
  for (std::size_t at = 0; at + sizeof(Number) <= raw.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, raw.data() + at, sizeof(Number));
    out.push_back(static_cast<std::int64_t>(number));
  }
}

void take_raw(const std::string& raw, OnnxConstant& constant) {
  switch (constant.type) {
    case OnnxType::kInt64: return unpack<std::int64_t>(raw, constant.numbers);
    case OnnxType::kInt32: return unpack<std::int32_t>(raw, constant.numbers);
    case OnnxType::kBool:
    case OnnxType::kUint8: return unpack<std::uint8_t>(raw, constant.numbers);
    case OnnxType::kInt8: return unpack<std::int8_t>(raw, constant.numbers);
    default: return;
  }
}

void check_shape(const ProtoFields& fields, const OnnxConstant& constant) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : constant.dims) {
    if (dim < 0 || (dim > 0 && elements > kMostElements / dim))
      fields.refuse(fmt::format("the constant '{}' has an impossible shape", constant.name));
    elements *= dim;
  }
}

OnnxConstant read_constant(ProtoFields& fields) {
  OnnxConstant constant;
  std::string raw;
  fields.message([&](ProtoFields& f) {
    switch (f.field()) {
      case 1: return f.numbers(constant.dims);
      case 2: constant.type = static_cast<OnnxType>(f.number()); return;
      case 5:
      case 7:
        if (constant.numbers.size() > kMostNumbers) return f.skip();
        return f.numbers(constant.numbers);
      case 8: constant.name = f.text(); return;
      case 9: raw = f.small_bytes(8 * kMostNumbers); return;
      default: return f.skip();
    }
  });
  check_shape(fields, constant);
  if (constant.numbers.empty()) take_raw(raw, constant);
  constant.known = !is_float(constant.type) && static_cast<std::int64_t>(constant.numbers.size()) == constant.elements();
  if (!constant.known) constant.numbers.clear();
  return constant;
}

OnnxAttribute read_attribute(ProtoFields& fields) {
  OnnxAttribute attribute;
  fields.message([&](ProtoFields& f) {
    switch (f.field()) {
      case 1: attribute.name = f.text(); return;
      case 2: attribute.real = f.float_number(); return;
      case 3: attribute.whole = f.signed_number(); return;
      case 4: attribute.text = f.text(); return;
      case 5: attribute.constant = read_constant(f); return;
      case 8: return f.numbers(attribute.numbers);
      default: return f.skip();
    }
  });
  return attribute;
}

OnnxNode read_node(ProtoFields& fields) {
  OnnxNode node;
  fields.message([&](ProtoFields& f) {
    switch (f.field()) {
      case 1: node.inputs.push_back(f.text()); return;
      case 2: node.outputs.push_back(f.text()); return;
      case 3: node.name = f.text(); return;
      case 4: node.op = f.text(); return;
      case 5: node.attributes.push_back(read_attribute(f)); return;
      case 7: node.domain = f.text(); return;
      default: return f.skip();
    }
  });
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

void read_dim(ProtoFields& fields, OnnxValue& value) {
  value.dims.push_back(-1);
  value.dim_names.emplace_back();
  fields.message([&](ProtoFields& f) {
    if (f.field() == 1) {
      value.dims.back() = f.signed_number();
      if (value.dims.back() < 0 || value.dims.back() > kMostElements)
        f.refuse(fmt::format("'{}' has an impossible shape", value.name));
    } else if (f.field() == 2) {
      value.dim_names.back() = f.text();
    } else {
      f.skip();
    }
  });
}

void read_tensor_type(ProtoFields& fields, OnnxValue& value) {
  fields.message([&](ProtoFields& f) {
    if (f.field() == 1) {
      value.type = static_cast<OnnxType>(f.number());
    } else if (f.field() == 2) {
      f.message([&](ProtoFields& shape) { shape.field() == 1 ? read_dim(shape, value) : shape.skip(); });
    } else {
      f.skip();
    }
  });
}

OnnxValue read_value(ProtoFields& fields) {
  OnnxValue value;
  fields.message([&](ProtoFields& f) {
    if (f.field() == 1) {
      value.name = f.text();
    } else if (f.field() == 2) {
      f.message([&](ProtoFields& type) { type.field() == 1 ? read_tensor_type(type, value) : type.skip(); });
    } else {
      f.skip();
    }
  });
  return value;
}

void read_graph(ProtoFields& fields, OnnxGraph& graph) {
  fields.message([&](ProtoFields& f) {
    switch (f.field()) {
      case 1:
        if (graph.nodes.size() >= kMostNodes) f.refuse("a graph of more than a million nodes");
        graph.nodes.push_back(read_node(f));
        return;
      case 2: graph.name = f.text(); return;
      case 5: {
        OnnxConstant constant = read_constant(f);
        graph.constant_order.push_back(constant.name);
        std::string name = constant.name;
        graph.constants.emplace(std::move(name), std::move(constant));
        return;
      }
      case 11: graph.inputs.push_back(read_value(f)); return;
      case 12: graph.outputs.push_back(read_value(f)); return;
      default: return f.skip();
    }
  });
}

void read_opset(ProtoFields& fields, OnnxGraph& graph) {
  std::string domain;
  std::int64_t version = 0;
  fields.message([&](ProtoFields& f) {
    if (f.field() == 1) domain = f.text();
    else if (f.field() == 2) version = f.signed_number();
    else f.skip();
  });
  if (domain.empty() || domain == "ai.onnx") graph.opset = version;
}

OnnxGraph read_model(ProtoFields& fields) {
  OnnxGraph graph;
  std::string version;
  while (fields.next()) {
    switch (fields.field()) {
      case 2: graph.producer = fields.text(); break;
      case 3: version = fields.text(); break;
      case 7: read_graph(fields, graph); break;
      case 8: read_opset(fields, graph); break;
      default: fields.skip(); break;
    }
  }
  if (!version.empty()) graph.producer += " " + version;
  std::erase_if(graph.inputs, [&](const OnnxValue& input) { return graph.constants.contains(input.name); });
  if (graph.nodes.empty() || graph.outputs.empty() || graph.opset == 0)
    fields.refuse("no ONNX model: it lacks a graph, its outputs or the version of its operators");
  return graph;
}

}  // namespace

std::int64_t OnnxConstant::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

const OnnxAttribute* OnnxNode::attribute(std::string_view wanted) const {
  for (const OnnxAttribute& attribute : attributes) {
    if (attribute.name == wanted) return &attribute;
  }
  return nullptr;
}

std::int64_t OnnxNode::whole(std::string_view wanted, std::int64_t otherwise) const {
  const OnnxAttribute* const found = attribute(wanted);
  return found == nullptr ? otherwise : found->whole;
}

std::vector<std::int64_t> OnnxNode::numbers(std::string_view wanted) const {
  const OnnxAttribute* const found = attribute(wanted);
  return found == nullptr ? std::vector<std::int64_t>{} : found->numbers;
}

bool names_onnx_file(const std::string& name) { return name.ends_with(".onnx"); }

Result<OnnxGraph> read_onnx(const std::string& path) {
  auto fields = ProtoFields::open(path);
  if (!fields) return fail(fields.error());
  try {
    return read_model(*fields);
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
