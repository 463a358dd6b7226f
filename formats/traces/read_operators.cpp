#include "formats/traces/read_operators.h"

#include <string_view>

#include "formats/traces/byte_source.h"
#include "formats/traces/chakra_protobuf.h"
#include "formats/traces/operator_json.h"

namespace plimsoll {
namespace {

enum class Kind { kNone, kJson, kProtobuf };

/// The file's first bytes, unpacked.
std::string beginning(const std::string& path) {
  constexpr std::size_t kLooked = 4096;
  auto source = ByteSource::open(path);
  if (!source) return {};
  std::string bytes(kLooked, '\0');
  try {
    bytes.resize(source->read(bytes.data(), bytes.size()));
  } catch (const EnvironmentError&) {
    return {};
  }
  return bytes;
}

/// A short message first, whose first field is a version or an attribute with a name.
bool begins_with_metadata(std::string_view bytes) {
  if (bytes.size() < 4) return false;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const std::size_t tag = at(0) < 0x80 ? 1 : at(1) < 0x80 ? 2 : 3;
  if (tag + 2 >= bytes.size() || (at(tag) != 0x0a && at(tag) != 0x12)) return false;
  return at(tag) == 0x0a ? at(tag + 1) < 64 && at(0) > 1 : at(tag + 2) == 0x0a || at(tag + 3) == 0x0a;
}

Kind kind_of(const std::string& path) {
  const std::string bytes = beginning(path);
  const std::size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return Kind::kNone;
  const auto holds = [&](std::string_view part) { return bytes.find(part) != std::string::npos; };
  if (bytes[start] == '{') {
    const bool pytorch = holds("\"schema\"") && holds("\"nodes\"");
    return (pytorch || holds("\"workload_graph\"")) && !holds("\"traceEvents\"") ? Kind::kJson : Kind::kNone;
  }
  return bytes[start] != '[' && begins_with_metadata(bytes) ? Kind::kProtobuf : Kind::kNone;
}

}  // namespace

bool holds_operators(const std::string& path) { return kind_of(path) != Kind::kNone; }

Result<OperatorTrace> read_operators(const std::string& path) {
  switch (kind_of(path)) {
    case Kind::kJson: return read_operator_json(path);
    case Kind::kProtobuf: return read_chakra_protobuf(path);
    case Kind::kNone: break;
  }
  return fail({.kind = ErrorKind::kInput,
               .what = "no execution trace of Chakra or PyTorch",
               .where = path,
               .remedy = "name a .et file, or JSON with \"workload_graph\" or \"nodes\""});
}

}  // namespace plimsoll
