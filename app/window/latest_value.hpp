// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <optional>
#include <utility>

namespace placewright {

/// Hands values from one thread to another that may be slower: only the latest is kept, so that there is
/// never a queue of them.
template <class Value>
class LatestValue {
public:
    /// Stores the value; returns true if the receiver has taken all earlier ones and must be notified.
    bool put(Value value) {
        const std::scoped_lock lock(m_mutex);
        const bool tell = !m_value.has_value();
        m_value = std::move(value);
        return tell;
    }

    /// Takes the value; to be called once for each put() that returned true.
    Value take() {
        const std::scoped_lock lock(m_mutex);
        return *std::exchange(m_value, std::nullopt);
    }

private:
    std::mutex m_mutex;
    std::optional<Value> m_value;  ///< guarded by m_mutex
};

}  // namespace placewright
