#include "formats/traces/chakra_protobuf.h"

#include <algorithm>
#include <iterator>

#include "formats/traces/operator_collector.h"
#include "formats/wire/proto_fields.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostTensorText = 1 << 20;
constexpr std::size_t kMostNodes = 100'000'000;

/// An attribute's value whatever its type: versions write one name now as this type, now as that.
struct Attribute {
  std::string name;
  std::int64_t whole = 0;
  std::string text;
};

/// The number without its fraction; 0 for what is no number or has no room in 64 bits.
std::int64_t without_fraction(double number) {
  constexpr double kFirstTooLarge = 0x1p63;
  return number > -kFirstTooLarge && number < kFirstTooLarge ? static_cast<std::int64_t>(number) : 0;
}

Attribute read_attribute(ProtoFields& fields) {
  Attribute attribute;
  fields.message([&](ProtoFields& f) {
    constexpr int kFirstValue = 3, kText = 29;  // after name and doc_string each type has a value and a list
    if (f.field() == 1) attribute.name = f.text();
    else if (f.field() == kText) attribute.text = f.small_bytes(4096);
    else if (f.field() < kFirstValue || f.field() % 2 == 0 || f.field() > kText) f.skip();
    else if (f.is_bytes()) f.skip();
    else if (f.field() == 3 || f.field() == 5) attribute.whole = without_fraction(f.float_number());
    else attribute.whole = f.signed_number();
  });
  return attribute;
}

void take_attribute(const Attribute& attribute, CollectedNode& node) {
  if (attribute.name == "is_cpu_op") node.on_host = attribute.whole != 0;
  else if (attribute.name == "tid" && node.on_host) node.lane = attribute.whole;
  else if (attribute.name == "stream") node.lane = attribute.whole;
  else if (attribute.name == "comm_size" || attribute.name == "tensor_size") node.bytes = std::max<std::int64_t>(node.bytes, attribute.whole);
}

std::vector<NamedTensor> read_tensors(ProtoFields& fields) {
  std::vector<NamedTensor> tensors;
  fields.message([&](ProtoFields& f) {
    if (f.field() == 1) tensors = tensors_in(f.small_bytes(kMostTensorText));
    else f.skip();
  });
  return tensors;
}

void append_ids(ProtoFields& fields, std::vector<std::uint64_t>& out) {
  std::vector<std::int64_t> numbers;
  fields.numbers(numbers);
  out.insert(out.end(), numbers.begin(), numbers.end());
}

void take_field(ProtoFields& f, CollectedNode& node, std::vector<std::uint64_t>& parents) {
  switch (f.field()) {
    case 1: node.id = f.number(); return;
    case 2: node.name = f.text(); return;
    case 3: node.sort = chakra_sort(f.signed_number()); return;
    case 4: return append_ids(f, parents);
    case 5: return append_ids(f, node.after);
    case 7: node.duration_microseconds = static_cast<double>(f.number()); return;
    case 8: node.inputs = read_tensors(f); return;
    case 9: node.outputs = read_tensors(f); return;
    case 10: return take_attribute(read_attribute(f), node);
    default: return f.skip();
  }
}

/// The trace's own version, from the metadata that come first.
std::string read_metadata(ProtoFields& fields) {
  std::string version;
  const bool some = fields.next_delimited([&](ProtoFields& f) {
    if (f.field() == 1) {
      version = f.text(4096);
    } else if (f.field() == 2) {
      const Attribute attribute = read_attribute(f);
      if (attribute.name == "schema" && version.empty()) version = attribute.text;
    } else {
      f.refuse("no Chakra trace: it does not begin with metadata");
    }
  });
  if (!some) fields.refuse("an empty file");
  return version;
}

OperatorTrace read_nodes(ProtoFields& fields) {
  const std::string version = read_metadata(fields);
  OperatorCollector collector;
  for (;;) {
    CollectedNode node;
    std::vector<std::uint64_t> parents;
    if (!fields.next_delimited([&](ProtoFields& f) { take_field(f, node, parents); })) break;
    if (collector.size() >= kMostNodes) fields.refuse("more nodes than are read");
    if (!parents.empty()) node.parent = parents.front();
    collector.add(std::move(node));
  }
  return collector.finish(version.empty() ? "Chakra trace" : "Chakra trace " + version);
}

}  // namespace

OperatorSort chakra_sort(std::int64_t type) {
  constexpr OperatorSort kSorts[] = {OperatorSort::kOther, OperatorSort::kOther, OperatorSort::kLoad,    OperatorSort::kStore,
                                     OperatorSort::kCompute, OperatorSort::kSend, OperatorSort::kReceive, OperatorSort::kCollective};
  return type >= 0 && type < static_cast<std::int64_t>(std::size(kSorts)) ? kSorts[type] : OperatorSort::kOther;
}

Result<OperatorTrace> read_chakra_protobuf(const std::string& path) {
  auto fields = ProtoFields::open(path);
  if (!fields) return fail(fields.error());
  try {
    return read_nodes(*fields);
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
