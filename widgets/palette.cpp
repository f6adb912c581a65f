// SPDX-License-Identifier: MIT
#include "widgets/palette.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <QPixmap>

namespace placewright {
namespace {

// Okabe and Ito (2008); Paul Tol's wine replaces the black of their set, which is invisible on a dark window.
constexpr std::array<QRgb, 8> kSeries{0xff0072b2, 0xffe69f00, 0xff009e73, 0xffcc79a7,
                                      0xff56b4e9, 0xffd55e00, 0xfff0e442, 0xff882255};

struct AlgorithmColor {
    std::string_view id;
    QRgb color;
};
// The first eleven, which are often run together, are as far from each other as can be in the sight of
// trichromats, protanopes and deuteranopes (Machado, Oliveira and Fernandes, 2009).
constexpr AlgorithmColor kAlgorithms[] = {
    {"auto", 0xff0022ee},
    {"genetic", 0xffee4444},
    {"map-elites", 0xff66aa88},
    {"tabu", 0xff226688},
    {"mcmc", 0xffee00ee},
    {"simulated-annealing", 0xffaaaa00},
    {"post", 0xff006600},
    {"placeto", 0xffcc88cc},
    {"hill-climbing", 0xff884444},
    {"heft", 0xff0044aa},
    {"instant", 0xff662244},
    {"random", 0xffaaaa66},
    {"particle-swarm", 0xffaa0066},
    {"ppo", 0xffee0066},
    {"policy-gradient", 0xff0088ee},
    {"cross-entropy", 0xffcc22aa},
    {"m-etf", 0xffee8844},
    {"pipedream", 0xffaa4422},
    {"hierarchical", 0xffee66aa},
    {"scotch", 0xff6666aa},
    {"metis", 0xff008888},
    {"colocrl", 0xff8822cc},
    {"expert", 0xff668800},
    {"single-device", 0xff664422},
    {"spotlight", 0xffaa66cc},
    {"gdp", 0xff4444ee},
    {"list-policy", 0xff2222aa},
    {"m-topo", 0xff668844},
    {"milp", 0xffaa44cc},
    {"load-annealing", 0xff22aacc},
    {"ideals-dp", 0xffee4400},
    {"linear-search", 0xff880088},
    {"m-sct", 0xff006644},
    {"sequential-fill", 0xff888822},
    {"memory-proportional", 0xff444488},
};
constexpr QRgb kOtherAlgorithm = 0xff7a7a7a;

// Of CPUs: as quiet as grey, but not the grey of what is unknown or disabled.
constexpr std::array<QRgb, 4> kCpus{0xff8f7a66, 0xffb9a795, 0xff685949, 0xffa69280};
constexpr QRgb kUnknown = 0xff8c8c8c;
constexpr QRgb kEdge = 0xff7f858f;  // seen on white and on black
constexpr int kHatchPeriod = 8;     // period of Qt's patterns, pixels

struct Hatch {
    Qt::BrushStyle pattern;
    bool rising, falling, vertical, horizontal;
};
constexpr std::array kHatches{
    Hatch{Qt::BDiagPattern, true, false, false, false},    Hatch{Qt::FDiagPattern, false, true, false, false},
    Hatch{Qt::DiagCrossPattern, true, true, false, false}, Hatch{Qt::VerPattern, false, false, true, false},
    Hatch{Qt::HorPattern, false, false, false, true},      Hatch{Qt::CrossPattern, false, false, true, true}};

/// Index of the device among those that share its colour scheme: the CPUs, or all other devices.
std::size_t rankAmongAlike(const Machine& machine, DeviceId device) {
    const auto isCpu = [&](DeviceId id) { return machine.device(id).kind == DeviceKind::cpu; };
    std::size_t rank = 0;
    for (DeviceId id = 0; id < device; ++id) rank += isCpu(id) == isCpu(device);
    return rank;
}

/// Hatch of the device; null for a plain colour.
const Hatch* hatchOf(const Machine& machine, DeviceId device) {
    if (device >= machine.devices().size()) return nullptr;
    const std::size_t colors = machine.device(device).kind == DeviceKind::cpu ? kCpus.size() : kSeries.size();
    const std::size_t round = rankAmongAlike(machine, device) / colors;
    return round == 0 ? nullptr : &kHatches[(round - 1) % kHatches.size()];
}

/// Relative luminance after WCAG 2.1.
double luminance(const QColor& color) {
    const auto linear = [](double value) {
        return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

}  // namespace

QColor deviceColor(const Machine& machine, DeviceId device) {
    if (device >= machine.devices().size()) return QColor(kUnknown);
    const std::size_t rank = rankAmongAlike(machine, device);
    return machine.device(device).kind == DeviceKind::cpu ? QColor(kCpus[rank % kCpus.size()])
                                                          : QColor(kSeries[rank % kSeries.size()]);
}

QBrush deviceBrush(const Machine& machine, DeviceId device) {
    const QColor color = deviceColor(machine, device);
    QBrush brush(color);
    const Hatch* const hatch = hatchOf(machine, device);
    if (!hatch) return brush;
    // Qt's pattern brushes are transparent between the lines, so the hatch is painted over the colour here.
    QImage tile(kHatchPeriod, kHatchPeriod, QImage::Format_RGB32);
    tile.fill(color);
    QPainter painter(&tile);
    painter.fillRect(tile.rect(), QBrush(hatchColor(color), hatch->pattern));
    painter.end();
    brush.setTextureImage(tile);
    return brush;
}

QPen deviceEdge(const Machine& machine, DeviceId device, const QColor& background) {
    constexpr double kLeast = 3;  // WCAG 2.1, 1.4.11
    if (contrast(deviceColor(machine, device), background) >= kLeast) return Qt::NoPen;
    return {QColor(kEdge), 1};
}

QIcon deviceIcon(const Machine& machine, DeviceId device, qreal pixelRatio) {
    constexpr int kSide = 12;
    QPixmap pixmap(QSize(kSide, kSide) * pixelRatio);
    pixmap.setDevicePixelRatio(pixelRatio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(deviceEdge(machine, device, QGuiApplication::palette().color(QPalette::Base)));
    painter.setBrush(deviceBrush(machine, device));
    painter.drawRoundedRect(QRectF(1.5, 1.5, kSide - 3, kSide - 3), 2, 2);
    painter.end();
    QIcon icon(pixmap);
    icon.addPixmap(pixmap, QIcon::Selected);  // keeps Qt from tinting the colour, which has a meaning
    return icon;
}

QVector<QLineF> deviceHatch(const Machine& machine, DeviceId device, const QRectF& area) {
    QVector<QLineF> lines;
    const Hatch* const hatch = hatchOf(machine, device);
    if (!hatch) return lines;
    const auto forSteps = [](double low, double high, auto draw) {
        for (double at = std::ceil(low / kHatchPeriod) * kHatchPeriod; at < high; at += kHatchPeriod)
            draw(at);
    };
    const double left = area.left(), right = area.right(), top = area.top(), bottom = area.bottom();
    // Along a diagonal either x + y or y - x is constant.
    const auto diagonals = [&](double from, double to, double sign) {
        forSteps(from + top, to + bottom, [&](double sum) {
            const double start = std::max(from, sum - bottom), end = std::min(to, sum - top);
            lines.append(QLineF(sign * start, sum - start, sign * end, sum - end));
        });
    };
    if (hatch->rising) diagonals(left, right, 1);
    if (hatch->falling) diagonals(-right, -left, -1);
    if (hatch->vertical) forSteps(left, right, [&](double x) { lines.append(QLineF(x, top, x, bottom)); });
    if (hatch->horizontal) forSteps(top, bottom, [&](double y) { lines.append(QLineF(left, y, right, y)); });
    return lines;
}

QColor hatchColor(const QColor& color) {
    return mixedColor(color, readableOn(color), 0.35F);
}

QColor readableOn(const QColor& background) {
    const double light = luminance(background);
    const bool blackReadsBetter = (light + 0.05) / 0.05 >= 1.05 / (light + 0.05);
    return blackReadsBetter ? QColor(Qt::black) : QColor(Qt::white);
}

double contrast(const QColor& a, const QColor& b) {
    const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
    return (light + 0.05) / (dark + 0.05);
}

bool isDark(const QPalette& palette) {
    return luminance(palette.color(QPalette::Window)) < luminance(palette.color(QPalette::WindowText));
}

QColor algorithmColor(std::string_view id) {
    id = id.substr(0, id.find(' '));
    const auto found = std::ranges::find(kAlgorithms, id, &AlgorithmColor::id);
    return QColor(found == std::end(kAlgorithms) ? kOtherAlgorithm : found->color);
}

QColor seriesColor(int index) {
    return QColor(kSeries[static_cast<std::size_t>(std::max(index, 0)) % kSeries.size()]);
}

float lineDensity(double length, const QSizeF& area) {
    constexpr double kFull = 0.5;  // pixels of lines per pixel of the area
    return static_cast<float>(std::clamp(length / (area.width() * area.height()) / kFull, 0.0, 1.0));
}

QColor mixedColor(const QColor& a, const QColor& b, float share) {
    const auto channel = [&](float from, float to) { return from + (to - from) * share; };
    return QColor::fromRgbF(channel(a.redF(), b.redF()), channel(a.greenF(), b.greenF()),
                            channel(a.blueF(), b.blueF()));
}

QColor mutedColor(const QPalette& palette) {
    return mixedColor(palette.color(QPalette::WindowText), palette.color(QPalette::Window), 0.35F);
}

QColor pathColor(const QPalette& palette) {
    return isDark(palette) ? QColor(0xff, 0x4f, 0xa3) : QColor(0xc4, 0x00, 0x62);
}

QColor warningColor(const QPalette& palette) {
    return isDark(palette) ? QColor(0xff, 0x8a, 0x4c) : QColor(0xb8, 0x46, 0x00);
}

QColor shorterColor(const QPalette& palette) {
    return isDark(palette) ? QColor(0x5f, 0xd7, 0xc8) : QColor(0x00, 0x73, 0x66);
}

}  // namespace placewright
