#include "core/model/loss_scaling.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

/// torch.amp.GradScaler: update() after each step, as its documentation and `_amp_update_scale_` have it.
struct GradScaler {
  float scale, growth_factor = 2, backoff_factor = 0.5;
  std::int64_t growth_interval, growth_tracker = 0;

  void update(bool found_inf) {
    if (found_inf) {
      scale *= backoff_factor;
      growth_tracker = 0;
      return;
    }
    if (++growth_tracker < growth_interval) return;
    growth_tracker = 0;
    if (const float grown = scale * growth_factor; grown <= 3.4028234663852886e38F) scale = grown;
  }
};

}  // namespace

TEST_CASE("the loss scale goes the way of PyTorch's GradScaler, whatever overflows when") {
  for (const std::int64_t interval : {1, 3, 2000}) {
    for (const double start : {65536.0, 0x1p127, 3.0}) {
      const LossScaling scaling{.start = start, .interval = interval};
      GradScaler theirs{.scale = static_cast<float>(start), .growth_interval = interval};
      LossScale ours = first_loss_scale(scaling);
      std::int64_t good = 0;
      for (std::uint32_t step = 0, random = 1; step < 5000; ++step) {
        CHECK(ours.scale == static_cast<double>(theirs.scale));
        CHECK(ours.factor == 1 / ours.scale);
        CHECK(ours.updates == static_cast<double>(good));
        random = random * 1664525 + 1013904223;
        const bool finite = random >> 24 > (step < 2500 ? 1 : 0);
        good += finite ? 1 : 0;
        theirs.update(!finite);
        ours = next_loss_scale(scaling, ours, finite);
      }
    }
  }
}

TEST_CASE("a scale that stays counts what it skips and does not move") {
  const LossScaling scaling{.start = 128, .interval = 0};
  LossScale scale = next_loss_scale(scaling, first_loss_scale(scaling), true);
  scale = next_loss_scale(scaling, scale, false);
  CHECK(scale.scale == 128);
  CHECK(scale.updates == 1);
}

TEST_CASE("a loss scaling is read as it is written, and nothing else is") {
  for (const LossScaling& scaling : {LossScaling{}, LossScaling{.start = 1024}, LossScaling{.start = 0.5, .interval = 7},
                                     LossScaling{.start = 1e30, .interval = 0}}) {
    CHECK(parse_loss_scaling(to_text(scaling)).value() == scaling);
  }
  CHECK(to_text(LossScaling{}) == "dynamic");
  CHECK(to_text(LossScaling{.start = 1024, .interval = 0}) == "1024");
  for (const char* text : {"", "dynamic:", "dynamic:0", "dynamic:1:0", "dynamic:1:2:3", "-1", "nan", "1e39", "static", "8x"}) {
    INFO(text);
    CHECK_FALSE(parse_loss_scaling(text));
  }
}
