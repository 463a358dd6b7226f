#pragma once

#include <string>

namespace plimsoll::test {

/// A run file of a tiny training on the CPU, made by the program; made once.
const std::string& tiny_run_file();

/// Another run of the same plan.
const std::string& second_run_file();

}  // namespace plimsoll::test
