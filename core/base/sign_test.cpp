// SPDX-License-Identifier: MIT
#include "core/base/sign_test.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <boost/math/distributions/binomial.hpp>

namespace placewright {

SignTest sign_test(std::span<const double> first, std::span<const double> second) {
    if (first.size() != second.size())
        throw std::invalid_argument("sign_test: " + std::to_string(first.size()) +
                                    " values are paired with " + std::to_string(second.size()));
    SignTest test;
    for (std::size_t i = 0; i < first.size(); ++i) {
        test.less += first[i] < second[i];
        test.greater += first[i] > second[i];
    }
    const auto pairs = static_cast<double>(test.less + test.greater);
    const auto fewer = static_cast<double>(std::min(test.less, test.greater));
    if (pairs > 0) test.p = std::min(1.0, 2 * boost::math::cdf(boost::math::binomial(pairs, 0.5), fewer));
    return test;
}

}  // namespace placewright
