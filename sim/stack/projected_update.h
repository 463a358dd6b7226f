#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "sim/stack/optimizer_form.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// A hidden matrix whose gradient the form projects; all other parameters have the plain rule.
bool is_projected(const Parameter& parameter, const OptimizerForm& form);

/// Of a projected matrix: the projector, over the shorter side, and what the rule sees of a gradient.
Shape projector_shape(const Shape& matrix, const OptimizerForm& form);
Shape projected_shape(const Shape& matrix, const OptimizerForm& form);

/// One update of such a matrix as galore-torch and apollo-torch make it: the projector first where it is time (its cost is shared
/// out over the steps until the next one), the states where they are not there yet (`make_states`), and the way back.
void update_projected(Tape& tape, Parameter& parameter, OptimizerKind rule, const std::function<void()>& make_states);

/// Operations of a singular value decomposition of an m × n matrix with its vectors of the shorter side, by the cheaper of two
/// ways (Golub and Van Loan, Matrix Computations, 4th edition, figure 8.6.1).
double decomposition_flops(std::int64_t rows, std::int64_t columns);

}  // namespace plimsoll
