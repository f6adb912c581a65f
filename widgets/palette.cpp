// SPDX-License-Identifier: MIT
#include "widgets/palette.hpp"

#include <array>
#include <cmath>

#include <QImage>
#include <QPainter>

namespace placewright {
namespace {

// Okabe and Ito (2008), with the black of their set, which is lost on a dark window, replaced by Paul Tol's wine.
constexpr std::array<QRgb, 8> kSeries{0xff0072b2, 0xffe69f00, 0xff009e73, 0xffcc79a7, 0xff56b4e9, 0xffd55e00, 0xfff0e442, 0xff882255};
constexpr std::array<QRgb, 4> kGreys{0xff8c8c8c, 0xffb4b4b4, 0xff666666, 0xffa0a0a0};
constexpr std::array kHatches{Qt::BDiagPattern, Qt::FDiagPattern, Qt::DiagCrossPattern, Qt::VerPattern, Qt::HorPattern, Qt::CrossPattern};

/// Position of the device among those that are coloured in the same way: the CPUs, or all others.
std::size_t rankAmongAlike(const Machine& machine, DeviceId device) {
    const auto isCpu = [&](DeviceId id) { return machine.device(id).kind == DeviceKind::cpu; };
    std::size_t rank = 0;
    for (DeviceId id = 0; id < device; ++id) rank += isCpu(id) == isCpu(device);
    return rank;
}

/// WCAG 2.1, relative luminance.
double luminance(const QColor& color) {
    const auto linear = [](double value) { return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

}  // namespace

QColor deviceColor(const Machine& machine, DeviceId device) {
    if (device >= machine.devices().size()) return QColor(kGreys.front());
    const std::size_t rank = rankAmongAlike(machine, device);
    return machine.device(device).kind == DeviceKind::cpu ? QColor(kGreys[rank % kGreys.size()]) : QColor(kSeries[rank % kSeries.size()]);
}

QBrush deviceBrush(const Machine& machine, DeviceId device) {
    const QColor color = deviceColor(machine, device);
    QBrush brush(color);
    if (device >= machine.devices().size()) return brush;
    const std::size_t colors = machine.device(device).kind == DeviceKind::cpu ? kGreys.size() : kSeries.size();
    const std::size_t round = rankAmongAlike(machine, device) / colors;
    if (round == 0) return brush;
    // Qt's pattern brushes leave the background open, so the hatch is painted over the colour once. The tile has the period of the
    // patterns.
    QImage tile(8, 8, QImage::Format_RGB32);
    tile.fill(color);
    QPainter painter(&tile);
    painter.fillRect(tile.rect(), QBrush(mixedColor(color, readableOn(color), 0.35F), kHatches[(round - 1) % kHatches.size()]));
    painter.end();
    brush.setTextureImage(tile);
    return brush;
}

QColor readableOn(const QColor& background) {
    const double light = luminance(background);
    const bool blackReadsBetter = (light + 0.05) / 0.05 >= 1.05 / (light + 0.05);
    return blackReadsBetter ? QColor(Qt::black) : QColor(Qt::white);
}

bool isDark(const QPalette& palette) {
    return luminance(palette.color(QPalette::Window)) < luminance(palette.color(QPalette::WindowText));
}

QColor seriesColor(int index) {
    return QColor(kSeries[static_cast<std::size_t>(std::max(index, 0)) % kSeries.size()]);
}

QColor mixedColor(const QColor& a, const QColor& b, float share) {
    const auto channel = [&](float from, float to) { return from + (to - from) * share; };
    return QColor::fromRgbF(channel(a.redF(), b.redF()), channel(a.greenF(), b.greenF()), channel(a.blueF(), b.blueF()));
}

QColor mutedColor(const QPalette& palette) {
    return mixedColor(palette.color(QPalette::WindowText), palette.color(QPalette::Window), 0.45F);
}

QColor warningColor(const QPalette& palette) {
    return isDark(palette) ? QColor(0xff, 0x8a, 0x4c) : QColor(0xb8, 0x46, 0x00);
}

}  // namespace placewright
