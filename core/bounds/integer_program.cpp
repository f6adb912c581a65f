// SPDX-License-Identifier: MIT
#include "core/bounds/integer_program.hpp"

namespace placewright {

IntegerProgram::Column IntegerProgram::add_column(double lower, double upper, double cost) {
    lower_.push_back(lower);
    upper_.push_back(upper);
    cost_.push_back(cost);
    return static_cast<Column>(cost_.size() - 1);
}

IntegerProgram::Column IntegerProgram::add_binary(double cost) {
    whole_.push_back(static_cast<Column>(cost_.size()));
    return add_column(0, 1, cost);
}

void IntegerProgram::begin_row(double lower, double upper) {
    row_begin_.push_back(static_cast<int>(entry_.size()));
    row_lower_.push_back(lower);
    row_upper_.push_back(upper);
}

void IntegerProgram::add(Column column, double factor) {
    entry_column_.push_back(column);
    entry_.push_back(factor);
}

}  // namespace placewright
