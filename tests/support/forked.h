#pragma once

#include <functional>
#include <optional>
#include <string>

namespace plimsoll {

/// What `work` returns when a child process runs it, so that it may give up rights, mount or die; nothing when the
/// child died by a signal.
std::optional<std::string> in_child(const std::function<std::string()>& work);

/// The same in a child whose mounts nobody else sees: `work` may mount where it likes. Nothing when this is not
/// permitted here, which the caller should say (a skipped test is no passed one).
std::optional<std::string> in_own_mounts(const std::function<std::string()>& work);

}  // namespace plimsoll
