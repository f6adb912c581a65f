// SPDX-License-Identifier: MIT
#include "core/io/pytorch/symbolic_size.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <system_error>
#include <vector>

namespace placewright {
namespace {

__extension__ typedef __int128 Wide;  ///< of GCC and Clang; not in ISO C++, hence the keyword

constexpr int kDeepest = 100;  ///< nested expressions

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// A fraction in lowest terms, with a positive denominator.
struct Fraction {
    std::int64_t over = 0, under = 1;
};
using Value = std::optional<Fraction>;

Value fraction(Wide over, Wide under) {
    if (under == 0) return {};
    if (under < 0) over = -over, under = -under;
    Wide a = over < 0 ? -over : over, b = under;
    while (b != 0) {
        const Wide rest = a % b;
        a = b;
        b = rest;
    }
    if (a > 1) over /= a, under /= a;
    constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
    if (over > kMost || over < -kMost || under > kMost) return {};
    return Fraction{static_cast<std::int64_t>(over), static_cast<std::int64_t>(under)};
}
Value sum(const Value& a, const Value& b) {
    if (!a || !b) return {};
    // Each product is below 2^126.
    return fraction(Wide{a->over} * b->under + Wide{b->over} * a->under, Wide{a->under} * b->under);
}
Value product(const Value& a, const Value& b) {
    if (!a || !b) return {};
    return fraction(Wide{a->over} * b->over, Wide{a->under} * b->under);
}
Value quotient(const Value& a, const Value& b) {
    if (!a || !b) return {};
    return fraction(Wide{a->over} * b->under, Wide{a->under} * b->over);
}
Value negative(const Value& a) {
    return product(a, Fraction{-1});
}
Value floor_of(const Value& a) {
    if (!a) return {};
    const std::int64_t whole = a->over / a->under;
    return Fraction{whole - (a->over % a->under < 0 ? 1 : 0)};
}
Value remainder(const Value& a, const Value& b) {
    return sum(a, negative(product(b, floor_of(quotient(a, b)))));
}
Value power(const Value& base, const Value& exponent) {
    if (!base || !exponent || exponent->under != 1 || exponent->over < -64 || exponent->over > 64) return {};
    Value result = Fraction{1};
    for (std::int64_t k = 0; k < std::abs(exponent->over); ++k) result = product(result, base);
    return exponent->over < 0 ? quotient(Fraction{1}, result) : result;
}
bool is_less(const Fraction& a, const Fraction& b) {
    return Wide{a.over} * b.under < Wide{b.over} * a.under;
}

class Parser {
public:
    Parser(std::string_view text, const SymbolValue& value_of) : rest_(text), value_of_(value_of) {}

    Value whole() {
        const Value value = sums();
        skip_blanks();
        return rest_.empty() ? value : std::nullopt;
    }

private:
    void skip_blanks() {
        while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    }
    bool take(std::string_view token) {
        skip_blanks();
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }

    Value sums() {
        if (++depth_ > kDeepest) return {};
        Value value = products();
        for (;;) {
            if (take("+")) {
                value = sum(value, products());
            } else if (take("-")) {
                value = sum(value, negative(products()));
            } else {
                --depth_;
                return value;
            }
        }
    }

    Value products() {
        Value value = signed_power();
        for (;;) {
            if (take("//")) {
                value = floor_of(quotient(value, signed_power()));
            } else if (take("/")) {
                value = quotient(value, signed_power());
            } else if (take("%")) {
                value = remainder(value, signed_power());
            } else if (take("*")) {
                value = product(value, signed_power());
            } else {
                return value;
            }
        }
    }

    Value signed_power() {
        bool minus = false;
        while (take("-")) minus = !minus;
        Value value = atom();
        if (take("**")) value = power(value, atom());
        return minus ? negative(value) : value;
    }

    Value atom() {
        skip_blanks();
        if (take("(")) {
            const Value value = sums();
            return take(")") ? value : std::nullopt;
        }
        if (!rest_.empty() && is_digit(rest_.front())) return number();
        const std::string name = this->name();
        if (name.empty()) return {};
        if (!take("(")) return symbol(name);
        return call(name.substr(name.rfind('.') + 1));
    }

    Value number() {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc()) return {};
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return Fraction{value};
    }

    /// Letters and digits, with dots between modules.
    std::string name() {
        const auto part = [](char c) { return is_letter(c) || is_digit(c) || c == '.'; };
        skip_blanks();
        const auto end = std::ranges::find_if_not(rest_, part);
        std::string text(rest_.begin(), end);
        rest_.remove_prefix(text.size());
        return text;
    }

    Value symbol(const std::string& name) const {
        const auto value = value_of_(name);
        return value ? Value(Fraction{*value}) : std::nullopt;
    }

    /// The arguments of a function after its bracket.
    Value call(const std::string& function) {
        if (function == "Symbol") {
            if (!take("'")) return {};
            const std::size_t end = rest_.find('\'');
            if (end == std::string_view::npos) return {};
            const Value value = symbol(std::string(rest_.substr(0, end)));
            // What is assumed of the symbol follows.
            const std::size_t close = rest_.find(')', end);
            if (close == std::string_view::npos) return {};
            rest_.remove_prefix(close + 1);
            return value;
        }
        std::vector<Value> arguments;
        do arguments.push_back(sums());
        while (take(","));
        if (!take(")") || !std::ranges::all_of(arguments, &Value::has_value)) return {};
        return apply(function, arguments);
    }

    static Value apply(const std::string& function, const std::vector<Value>& arguments) {
        const Value &first = arguments.front(), &last = arguments.back();
        const auto each = [&](Value (*join)(const Value&, const Value&)) {
            return std::accumulate(arguments.begin() + 1, arguments.end(), first, join);
        };
        if (function == "Add") return each(sum);
        if (function == "Mul") return each(product);
        if (function == "Max")
            return each([](const Value& a, const Value& b) { return is_less(*a, *b) ? b : a; });
        if (function == "Min")
            return each([](const Value& a, const Value& b) { return is_less(*a, *b) ? a : b; });
        if (arguments.size() == 1) {
            if (function == "Integer" || function == "Identity") return first;
            if (function == "floor" || function == "FloorToInt") return floor_of(first);
            if (function == "ceiling" || function == "CeilToInt") return negative(floor_of(negative(first)));
        }
        if (arguments.size() == 2) {
            if (function == "Rational" || function == "IntTrueDiv" || function == "CleanDiv")
                return quotient(first, last);
            if (function == "FloorDiv") return floor_of(quotient(first, last));
            if (function == "CeilDiv") return negative(floor_of(negative(quotient(first, last))));
            if (function == "Mod" || function == "PythonMod") return remainder(first, last);
            if (function == "Pow" || function == "PowByNatural") return power(first, last);
        }
        if (arguments.size() == 3 && function == "ModularIndexing")
            return remainder(floor_of(quotient(first, arguments[1])), last);
        return {};
    }

    std::string_view rest_;
    const SymbolValue& value_of_;
    int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> evaluate_size(std::string_view expression, const SymbolValue& value_of) {
    const Value value = Parser(expression, value_of).whole();
    if (!value || value->under != 1) return {};
    return value->over;
}

std::optional<std::string> only_symbol(std::string_view expression) {
    constexpr std::string_view kCall = "Symbol('";
    if (expression.starts_with(kCall) && expression.ends_with(')') &&
        std::ranges::count(expression, '(') == 1) {
        expression.remove_prefix(kCall.size());
        expression = expression.substr(0, expression.find('\''));
    }
    const auto part = [](char c) { return is_letter(c) || is_digit(c); };
    if (expression.empty() || !is_letter(expression.front()) || !std::ranges::all_of(expression, part))
        return {};
    return std::string(expression);
}

}  // namespace placewright
