#include "formats/plans/name_table.h"

#include <fmt/format.h>

#include "core/base/nearest_names.h"
#include "formats/text/json_text.h"

namespace plimsoll {

NameTable::NameTable(std::string noun, std::vector<std::string> names)
    : noun_(std::move(noun)), names_(std::move(names)) {
  for (std::uint32_t i = 0; i < names_.size(); ++i) by_name_[names_[i]].push_back(i);
}

std::uint32_t NameTable::find(const JsonNode& node) const {
  if (!node.is_text()) {
    const std::uint32_t index = node.index();
    if (index < names_.size()) return index;
    node.fault(fmt::format("there is no {} {}: the table has {}", noun_, index, names_.size()));
    return 0;
  }
  const std::string name = node.text();
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    node.fault(fmt::format("there is no {} {}", noun_, json_quote(name)), did_you_mean(name, names_),
               ErrorKind::kUnknownName);
    return 0;
  }
  if (found->second.size() > 1) {
    node.fault(fmt::format("{} entries are called {}", found->second.size(), json_quote(name)),
               fmt::format("refer to the {} by its index, {} or {}", noun_, found->second[0], found->second[1]));
  }
  return found->second.front();
}

std::string NameTable::reference(std::uint32_t index) const {
  if (index == StrongId<void>::kNoneIndex) return "null";
  if (index >= names_.size()) return std::to_string(index);
  const std::string& name = names_[index];
  return name.empty() || by_name_.at(name).size() > 1 ? std::to_string(index) : json_quote(name);
}

}  // namespace plimsoll
