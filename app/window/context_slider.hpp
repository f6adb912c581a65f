// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include <QSlider>

namespace placewright {

/// A slider over lengths of the context, on a logarithmic scale: eight steps an octave, from 128 to 1,048,576
/// tokens. What does not fit the memory is marked.
class ContextSlider : public QSlider {
    Q_OBJECT
public:
    explicit ContextSlider(QWidget* parent = nullptr);

    /// Tokens at the handle.
    std::int64_t tokens() const { return tokensAt(value()); }
    /// Puts the handle to the step that is nearest.
    void setTokens(std::int64_t tokens);
    /// Marks all that is longer; nothing: it is not known. Larger than all steps: all fit.
    void setLongest(std::optional<std::int64_t> tokens);
    /// Where what fits ends, in pixels from the left; nothing if it is not known or everything fits.
    std::optional<int> longestX() const;

    static std::int64_t tokensAt(int step);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::optional<std::int64_t> m_longest;
};

}  // namespace placewright
