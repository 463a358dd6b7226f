// Will a model's training fit on a GPU? `fit_a_model gpt2-xl "RTX 2060 6GB"`, with Plimsoll as an installed library.

#include <cstdio>
#include <string>

#include "formats/machines/gpu_catalogue.h"
#include "formats/models/resolve_model.h"
#include "sim/answers/question.h"

namespace {

using plimsoll::Result;

/// One sequence a step, AdamW, in the precision that suits the GPU, on a machine with 64 GiB of RAM.
Result<plimsoll::Question> ask(const std::string& model, const std::string& gpu_name) {
  const auto spec = plimsoll::resolve_model(model);
  if (!spec) return plimsoll::fail(spec.error());
  const auto gpu = plimsoll::find_gpu(plimsoll::built_in_gpu_catalogue(), gpu_name);
  if (!gpu) return plimsoll::fail(gpu.error());
  plimsoll::Question question;
  question.spec = *spec;
  question.recipe.precision = plimsoll::default_precision(*gpu).precision;
  question.recipe.micro_batch = 1;
  question.recipe.sequence = 1024;
  plimsoll::MachineOptions machine;
  machine.ram = 64 * plimsoll::kGiB;
  return plimsoll::on_machine(std::move(question), {*gpu, machine});
}

void print(const plimsoll::FitAnswer& answer) {
  std::printf("%s: %s with plan '%s'\n", answer.model.c_str(), answer.fits ? "FITS" : "DOES NOT FIT", answer.strategy.name.c_str());
  std::printf("  %.3f s a step, limited by %s\n", answer.step_seconds, answer.bottleneck.c_str());
  for (const plimsoll::SpaceAnswer& space : answer.memory) {
    std::printf("  %-5s needs %s of %s\n", space.space.c_str(), plimsoll::to_text(space.peak).c_str(), plimsoll::to_text(space.usable).c_str());
  }
}

int complain(const plimsoll::Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: fit_a_model MODEL GPU\n", stderr);
    return 2;
  }
  const auto question = ask(argv[1], argv[2]);
  if (!question) return complain(question.error());
  const auto answer = plimsoll::answer_question(*question);
  if (!answer) return complain(answer.error());
  print(*answer);
  return answer->fits ? 0 : 3;
}
