// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include <QPainter>
#include <QTest>

#include "core/algorithms.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/plots.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using namespace placewright::test;

class TestPlotStyle : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void largeNumbersOnAxesAreShort() {
        QCustomPlot plot;
        plot.resize(800, 300);
        stylePlot(plot);
        plot.xAxis->setRange(0, 400'000);
        plot.replot();
        QVERIFY(plot.xAxis->tickVectorLabels().contains(QStringLiteral("200k")));
        QVERIFY(plot.xAxis->tickVectorLabels().contains(QStringLiteral("0")));
        plot.xAxis->setScaleType(QCPAxis::stLogarithmic);
        plot.xAxis->setRange(1, 2e7);
        updateLogTicker(*plot.xAxis);
        plot.replot();
        QVERIFY(plot.xAxis->tickVectorLabels().contains(QStringLiteral("100k")));
        QVERIFY(plot.xAxis->tickVectorLabels().contains(QStringLiteral("1M")));
    }

    void numbersOfAnAxisAreWrittenAlike() {
        QCustomPlot plot;
        plot.resize(600, 300);
        stylePlot(plot);
        const auto labels = [&](double end) {
            plot.xAxis->setRange(0, end);
            plot.replot();
            return plot.xAxis->tickVectorLabels();
        };
        QVERIFY(labels(20'000).contains(QStringLiteral("5k")));
        QVERIFY(labels(8000).contains(QLocale().toString(2000)) ||
                labels(8000).contains(QStringLiteral("2000")));
    }

    void coloursOfRunsAreApartOnAnyBackground() {
        for (const QColor& background : {QColor(Qt::white), QColor(30, 30, 30), QColor(42, 46, 50)}) {
            for (int a = 0; a < 8; ++a) {
                const QColor one = runColor(a, background);
                QVERIFY(contrast(one, background) > 2.2);
                for (int b = 0; b < a; ++b) {
                    const QColor other = runColor(b, background);
                    const double apart = std::hypot(one.red() - other.red(), one.green() - other.green(),
                                                    one.blue() - other.blue());
                    QVERIFY2(apart > 50,
                             qPrintable(QStringLiteral("%1 and %2: %3").arg(a).arg(b).arg(apart)));
                }
            }
        }
    }

    /// As seen by trichromats, protanopes and deuteranopes, in CIE L*a*b*.
    static std::array<std::array<double, 3>, 3> seen(const QColor& color) {
        using Matrix = std::array<std::array<double, 3>, 3>;
        using Triple = std::array<double, 3>;
        // Machado, Oliveira and Fernandes, 2009, at full severity.
        static constexpr Matrix kUsual{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
        static constexpr Matrix kProtan{
            {{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}}};
        static constexpr Matrix kDeutan{
            {{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.01182, .04294, .968881}}};
        static constexpr Matrix kXyz{
            {{.4124564, .3575761, .1804375}, {.2126729, .7151522, .072175}, {.0193339, .119192, .9503041}}};
        const auto times = [](const Matrix& matrix, const Triple& of) {
            Triple result{};
            for (int row = 0; row < 3; ++row) {
                for (int column = 0; column < 3; ++column) result[row] += matrix[row][column] * of[column];
            }
            return result;
        };
        const auto linear = [](double value) {
            return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
        };
        const Triple rgb{linear(color.redF()), linear(color.greenF()), linear(color.blueF())};
        std::array<Triple, 3> all{};
        for (int i = 0; const Matrix* sight : {&kUsual, &kProtan, &kDeutan}) {
            Triple light = times(*sight, rgb);
            for (double& value : light) value = std::clamp(value, 0.0, 1.0);
            const Triple xyz = times(kXyz, light), white{.95047, 1, 1.08883};
            Triple f{};
            for (int k = 0; k < 3; ++k) {
                const double share = xyz[k] / white[k];
                f[k] = share > 0.008856 ? std::cbrt(share) : 7.787 * share + 16.0 / 116;
            }
            all[i++] = {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
        }
        return all;
    }

    void coloursOfAlgorithmsAreTheirOwn() {
        const Machine machine = uniform_machine(8);
        std::set<QRgb> taken;
        for (DeviceId device = 0; device < machine.devices().size(); ++device)
            taken.insert(deviceColor(machine, device).rgb());
        const std::size_t devices = taken.size();
        for (const AlgorithmInfo& info : algorithms())
            QVERIFY2(taken.insert(algorithmColor(info.id).rgb()).second, info.id.c_str());
        QCOMPARE(taken.size(), devices + algorithms().size());
        QVERIFY(!taken.contains(algorithmColor("none").rgb()));
    }

    void algorithmsThatAreRunTogetherAreApart() {
        const std::vector<const char*> often{"auto",          "genetic", "map-elites", "simulated-annealing",
                                             "tabu",          "mcmc",    "post",       "placeto",
                                             "hill-climbing", "heft",    "instant"};
        for (std::size_t a = 0; a < often.size(); ++a) {
            for (std::size_t b = 0; b < a; ++b) {
                const auto one = seen(algorithmColor(often[a])), other = seen(algorithmColor(often[b]));
                for (int sight = 0; sight < 3; ++sight) {
                    const double apart =
                        std::hypot(one[sight][0] - other[sight][0], one[sight][1] - other[sight][1],
                                   one[sight][2] - other[sight][2]);
                    QVERIFY2(apart > 19, qPrintable(QStringLiteral("%1 and %2: %3")
                                                        .arg(QLatin1String(often[a]), QLatin1String(often[b]))
                                                        .arg(apart)));
                }
            }
        }
    }

    void runsOfAnAlgorithmAreToldApart() {
        for (const QColor& background : {QColor(Qt::white), QColor(30, 30, 30)}) {
            std::set<std::pair<QRgb, int>> pens;
            for (int nth = 0; nth < 12; ++nth) {
                const QPen pen = seriesPen(RunStyle{"genetic", nth}, background);
                QVERIFY(contrast(pen.color(), background) > 1.9);
                QVERIFY(contrast(runTextColor(RunStyle{"genetic", nth}, background), background) >= 4.5);
                QVERIFY(pens.insert({pen.color().rgb(), pen.style()}).second);
            }
        }
    }

    void plotsFollowThePalette() {
        CurvePlot curves;
        ArchiveMap map;
        CdfPlot cdf;
        cdf.setData(family());
        curves.setSeries({usualSeries()});  // dark blue, which is lightened on black
        const QColor onLight = curves.plot()->graph(0)->pen().color();
        curves.setPalette(darkPalette());
        map.setPalette(darkPalette());
        cdf.setPalette(darkPalette());
        for (const QCustomPlot* plot : {curves.plot(), map.plot(), cdf.plot()}) {
            QVERIFY(contrast(plot->xAxis->tickLabelColor(), darkPalette().color(QPalette::Base)) > 4.5);
            QVERIFY(contrast(plot->yAxis->labelColor(), darkPalette().color(QPalette::Base)) > 4.5);
        }
        QVERIFY(curves.plot()->graph(0)->pen().color() != onLight);
        QVERIFY(contrast(onLight, Qt::white) > 2);
    }

    void plotsAreDrawnAsVectors() {
        CurvePlot curves;
        curves.setSeries({usualSeries()});
        QImage image(400, 300, QImage::Format_RGB32);
        image.fill(Qt::magenta);
        QPainter painter(&image);
        curves.renderWhole(painter, QRect(100, 0, 300, 300));
        painter.end();
        QCOMPARE(otherThan(image.copy(0, 0, 100, 300), Qt::magenta), 0);
        QVERIFY(otherThan(image.copy(100, 0, 300, 300), curves.palette().color(QPalette::Base)) > 500);
        const QColor line = curves.plot()->graph(0)->pen().color();
        QVERIFY(otherThan(image.copy(100, 0, 300, 300), line) < 300 * 300 - 100);
    }
};

QTEST_MAIN(TestPlotStyle)
#include "tst_plot_style.moc"
