#include "tests/ranks/program_on_ranks.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test::on_mpi {

TEST_CASE("ranks foresee and measure what keeping the whole training's state costs") {
  const TemporaryFolder folder;
  const auto two = answer_of(run_child(on_ranks(2, {"--pp", "2", "--schedule", "1f1b", "--micro-batches", "4", "--steps", "4",
                                                     "--save-every", "2", "--json", "-q"}), folder.path()));
  const auto& safety = two["safety"];
  CHECK(safety["durability"] == "checkpoint");
  CHECK(safety["every_steps"] == 2);
  CHECK(safety["measured"]["times"] == 2);
  const auto state = safety["written_bytes_each"].get<std::int64_t>(), file = safety["measured"]["written_bytes_each"].get<std::int64_t>();
  CHECK((file > state && file < state + 65536));  // of both ranks, and a header
  const double share = safety["seconds_each"].get<double>() / 2 / two["predicted_step_seconds"].get<double>();
  CHECK(safety["step_share"].get<double>() == Approx(share));
}

}  // namespace plimsoll::test::on_mpi
