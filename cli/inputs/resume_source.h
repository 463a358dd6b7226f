#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "core/platform/platform.h"

namespace plimsoll {

/// What a resumed run goes on from. Model and recipe are known when the run file is.
struct ResumeSource {
  std::string checkpoint;
  std::string run_file;  ///< empty: there is only the checkpoint
  std::optional<ModelSpec> spec;
  std::optional<Recipe> recipe;
  std::optional<Platform> platform;  ///< that its last plan was made for
  std::string base;      ///< weights of the frozen model beside which adapters were trained; empty: the seed's
  std::vector<std::string> notes;  ///< of states that are damaged, and what is taken instead
  std::optional<MatmulLibrary> matmul;  ///< as the checkpoint says it, for those who only have that
};

/// `path` is a run file, whose last checkpoint is meant, or a checkpoint, whose run file is looked for beside it.
Result<ResumeSource> find_resume_source(const std::string& path);

/// Tells of memory that the run was held to, where much more may be used now.
void note_more_memory(const ResumeSource& resumed, const Platform& now, std::vector<std::string>& notes);

}  // namespace plimsoll
