#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {

inline const std::string kTinyModel = "gpt:layers=2,hidden=32,heads=4,vocab=256,positions=32";
inline const std::string kText = PLIMSOLL_SAMPLE_TEXT;

using Arguments = std::vector<std::string>;

/// The built program and these arguments.
Arguments command_line(const Arguments& arguments);

/// Runs the program in the folder. It must not die by a signal, whatever it is asked.
ChildEnd plimsoll_in(const TemporaryFolder& folder, const Arguments& arguments, long file_limit = 0);

/// Arguments of a training of the tiny model that takes next to no time; `more` is appended.
Arguments tiny_run(const std::string& steps, const Arguments& more = {});

void write_file(const std::string& path, const std::string& text);
std::string read_whole(const std::string& path);

/// Names of the folder's files, sorted.
std::vector<std::string> files_in(const TemporaryFolder& folder);

}  // namespace plimsoll::test
