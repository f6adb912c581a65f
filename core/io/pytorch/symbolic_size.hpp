// SPDX-License-Identifier: MIT
// Extents of tensors that torch.export leaves open, as expressions of SymPy.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace placewright {

/// Value of a symbol; nothing if it is not known.
using SymbolValue = std::function<std::optional<std::int64_t>(const std::string&)>;

/// Returns the value of an expression as sympy.sstr writes it ("2*s77 + 1", "floor(s0/2)"; up to PyTorch 2.5)
/// or sympy.srepr ("Mul(Integer(2), Symbol('s77', integer=True))"; from 2.6 on,
/// torch/_export/serde/serialize.py). Sums, products, powers, quotients, remainders, floor and ceiling,
/// minimum and maximum; nothing for another expression, an unknown symbol, or a value that is no whole number
/// of 64 bits.
std::optional<std::int64_t> evaluate_size(std::string_view expression, const SymbolValue& value_of);

/// Returns the symbol if an expression is nothing else.
std::optional<std::string> only_symbol(std::string_view expression);

}  // namespace placewright
