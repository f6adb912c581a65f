// SPDX-License-Identifier: MIT
// In place of integer_solver.cpp in a build without CBC: no program is solved, so that bounds which need one
// are weaker.
#include "core/bounds/integer_program.hpp"

namespace placewright {

std::optional<Relaxation> solve_relaxation(const IntegerProgram&, double, std::stop_token) {
    return {};
}

IntegerResult solve_integer(const IntegerProgram&, const IntegerLimits&) {
    return {};
}

}  // namespace placewright
