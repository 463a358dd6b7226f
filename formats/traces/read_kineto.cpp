#include "formats/traces/read_kineto.h"

#include "formats/traces/kineto_reader.h"

namespace plimsoll {

Result<Recording> read_kineto(const std::string& path, bool everything) {
  auto source = ByteSource::open(path);
  if (!source) return fail(source.error());
  try {
    return KinetoReader(std::move(*source), everything).read();
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
