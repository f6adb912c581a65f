// SPDX-License-Identifier: MIT
#include "app/window/context_slider.hpp"

#include <algorithm>
#include <cmath>

#include <QPainter>
#include <QStyle>
#include <QStyleOptionSlider>

#include "widgets/palette.hpp"

namespace placewright {
namespace {

constexpr std::int64_t kShortest = 128;
constexpr int kOctaves = 13, kStepsOfOctave = 8;
constexpr int kLongestStep = kOctaves * kStepsOfOctave;

/// The step of a length, with a fraction.
double stepOf(std::int64_t tokens) {
    const double share = static_cast<double>(std::max(tokens, kShortest)) / kShortest;
    const double octave = std::floor(std::log2(share));
    return kStepsOfOctave * (octave + share / std::exp2(octave) - 1);
}

}  // namespace

ContextSlider::ContextSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent) {
    setRange(0, kLongestStep);
    setSingleStep(1);
    setPageStep(kStepsOfOctave);
    setFocusPolicy(Qt::StrongFocus);
}

std::int64_t ContextSlider::tokensAt(int step) {
    // 128, 144, 160, ... 240, 256, 288, ...
    return (kShortest / kStepsOfOctave * (kStepsOfOctave + step % kStepsOfOctave)) << (step / kStepsOfOctave);
}

void ContextSlider::setTokens(std::int64_t tokens) {
    setValue(static_cast<int>(std::lround(stepOf(tokens))));
}

void ContextSlider::setLongest(std::optional<std::int64_t> tokens) {
    m_longest = tokens;
    update();
}

std::optional<int> ContextSlider::longestX() const {
    if (!m_longest || *m_longest >= tokensAt(kLongestStep)) return {};
    QStyleOptionSlider option;
    initStyleOption(&option);
    const int handle = style()->pixelMetric(QStyle::PM_SliderLength, &option, this);
    const double share = *m_longest < kShortest ? 0 : stepOf(*m_longest) / kLongestStep;
    return handle / 2 + static_cast<int>(std::lround(share * (width() - handle)));
}

void ContextSlider::paintEvent(QPaintEvent* event) {
    if (const auto x = longestX()) {
        QPainter painter(this);
        QColor color = warningColor(palette());
        painter.fillRect(QRect(*x, 2, 2, height() - 4), color);
        color.setAlphaF(0.25F);
        painter.fillRect(QRect(*x + 2, 4, width() - *x - 2, height() - 8), color);
    }
    QSlider::paintEvent(event);
}

}  // namespace placewright
