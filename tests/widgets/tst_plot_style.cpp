// SPDX-License-Identifier: MIT
#include <cmath>

#include <QPainter>
#include <QTest>

#include "tests/support/plots.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using namespace placewright::test;

class TestPlotStyle : public QObject {
    Q_OBJECT

private Q_SLOTS:
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

    void plotsFollowThePalette() {
        CurvePlot curves;
        ArchiveMap map;
        CdfPlot cdf;
        cdf.setData(family());
        curves.setSeries({usualSeries(6)});  // yellow, which is darkened on white
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
