#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/strong_id.h"
#include "formats/text/json_node.h"

namespace plimsoll {

/// The names of a table's entries, by which other parts of a file refer to them. An entry without a name of its own
/// (none, or one that several entries share) is referred to by its index.
class NameTable {
 public:
  /// `noun` is what an entry is called in messages: "queue", "buffer".
  NameTable(std::string noun, std::vector<std::string> names);

  /// The entry that a name or an index refers to; one that is none is noted as a fault.
  template <typename Id>
  [[nodiscard]] Id read(const JsonNode& node) const {
    return Id(find(node));
  }
  /// How a file refers to the entry: its name, else its index; null for an id that names none.
  template <typename Tag>
  [[nodiscard]] std::string write(StrongId<Tag> id) const {
    return reference(id.index);
  }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  [[nodiscard]] std::uint32_t find(const JsonNode& node) const;
  [[nodiscard]] std::string reference(std::uint32_t index) const;

  std::string noun_;
  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> by_name_;
};

/// The names of entries that have a `name`.
template <typename Entry>
NameTable name_table(std::string noun, const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) names.push_back(entry.name);
  return NameTable(std::move(noun), std::move(names));
}

}  // namespace plimsoll
