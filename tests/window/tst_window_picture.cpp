// SPDX-License-Identifier: MIT
// Pictures of the views.
#include <cmath>
#include <functional>
#include <memory>
#include <set>

#include <QApplication>
#include <QFile>
#include <QImage>
#include <QImageReader>
#include <QInputDialog>
#include <QPainter>
#include <QProgressDialog>
#include <QPushButton>
#include <QRegularExpression>
#include <QSvgRenderer>
#include <QTest>
#include <QTimer>

#include "app/window/picture.hpp"
#include "app/window/picture_export.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;
using test::request, test::Shown;

namespace {

using Paint = std::function<void(QPainter&, const QRectF&)>;

std::size_t colorsOf(const QImage& image) {
    std::set<QRgb> colors;
    for (int y = 0; y < image.height(); y += 2) {
        for (int x = 0; x < image.width(); x += 2) colors.insert(image.pixel(x, y));
    }
    return colors.size();
}

/// The part of the image that is not as its lower right corner.
QRect inkOf(const QImage& image) {
    const QRgb background = image.pixel(image.width() - 1, image.height() - 1);
    QRect ink;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            if (image.pixel(x, y) != background) ink |= QRect(x, y, 1, 1);
        }
    }
    return ink;
}

}  // namespace

class TestWindowPicture : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
    }
    void cleanup() { m_place.reset(); }

    void everyViewIsExported_data() {
        QTest::addColumn<QString>("view");
        QTest::addColumn<QString>("suffix");
        for (const char* view : {"graph", "timeline", "curve", "archive", "distribution"}) {
            for (const char* suffix : {"png", "svg", "pdf"})
                QTest::addRow("%s as %s", view, suffix) << view << suffix;
        }
    }
    void everyViewIsExported() {
        QFETCH(QString, view);
        QFETCH(QString, suffix);
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        for (const char* algorithm : {"map-elites", "post"}) {
            shown.document.startSearch(request(algorithm, 300));
            QVERIFY(shown.waitUntilIdle());
        }
        const MainWindow& window = shown.window;
        auto* curve = window.findChild<CurvePlot*>();
        const std::map<QString, std::pair<QSizeF, Paint>> views{
            {"graph",
             {window.graphView()->wholeSize(),
              [&](QPainter& p, const QRectF& r) { window.graphView()->renderWhole(p, r); }}},
            {"timeline",
             {window.timelineView()->wholeSize(),
              [&](QPainter& p, const QRectF&) { window.timelineView()->renderWhole(p); }}},
            {"curve",
             {curve->size(), [&](QPainter& p, const QRectF& r) { curve->renderWhole(p, r.toRect()); }}},
            {"archive",
             {QSizeF(500, 400),
              [&](QPainter& p, const QRectF& r) { window.archiveMap()->renderWhole(p, r.toRect()); }}},
            {"distribution", {QSizeF(500, 400), [&](QPainter& p, const QRectF& r) {
                                  window.distributionMap()->renderWhole(p, r.toRect());
                              }}}};
        const auto& [size, paint] = views.at(view);
        const QString file = m_place->file("picture." + suffix);
        const Picture picture = recordPicture(size, paint);
        QVERIFY(writePicture(file, picture));
        if (suffix == QLatin1String("pdf")) {
            QFile written(file);
            QVERIFY(written.open(QIODevice::ReadOnly));
            const QByteArray content = written.readAll();
            QVERIFY(content.startsWith("%PDF-"));
            // One page of the picture's size, in points of 1/72 inch.
            static const QRegularExpression box(QStringLiteral("/MediaBox \\[0 0 ([0-9.]+) ([0-9.]+)\\]"));
            const QRegularExpressionMatch match = box.match(QString::fromLatin1(content));
            QVERIFY(match.hasMatch());
            const double scale = 72.0 / picture.commands.logicalDpiX();
            QVERIFY(std::abs(match.captured(1).toDouble() - size.width() * scale) < 1.5);
            QVERIFY(std::abs(match.captured(2).toDouble() - size.height() * scale) < 1.5);
            QVERIFY(content.size() > 2000);
            return;
        }

        QImage image;
        if (suffix == QLatin1String("png")) {
            QVERIFY(image.load(file));
            QCOMPARE(image.size(), (size * 2).toSize());
        } else {
            QSvgRenderer renderer(file);
            QVERIFY(renderer.isValid());
            QCOMPARE(renderer.viewBoxF().size(), size);
            image = QImage(size.toSize(), QImage::Format_ARGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            renderer.render(&painter);
            painter.end();
            // As large as in a PNG.
            const QRect ink = inkOf(image), printed = inkOf(QImage::fromData(pngOf(picture, 1)));
            QVERIFY2(
                std::abs(ink.right() - printed.right()) < 8 && std::abs(ink.bottom() - printed.bottom()) < 8,
                qPrintable(QStringLiteral("%1, %2 and %3, %4")
                               .arg(ink.right())
                               .arg(ink.bottom())
                               .arg(printed.right())
                               .arg(printed.bottom())));
        }
        QVERIFY2(colorsOf(image) > 8, qPrintable(QString::number(colorsOf(image))));
    }

    /// Qt drops clips in SVG files.
    void svgFilesAreClipped() {
        const Picture picture = recordPicture({100, 80}, [](QPainter& painter, const QRectF&) {
            painter.setRenderHint(QPainter::Antialiasing, false);
            painter.save();
            painter.setClipRect(QRect(90, 70, 5, 5));
            painter.fillRect(0, 0, 100, 80, Qt::green);
            painter.restore();
            painter.fillRect(60, 75, 5, 5, Qt::blue);
            painter.translate(10, 10);
            painter.setClipRect(QRect(0, 0, 40, 40));
            painter.setClipping(false);
            painter.fillRect(50, 65, 5, 5, Qt::blue);
            painter.setClipping(true);
            painter.setPen(QPen(Qt::black, 3));
            painter.drawLine(QPointF(5, -1e5), QPointF(6, 1e5));
            painter.drawPolyline(QPolygonF{{{-500, 20}, {20, 20}, {20, 900}, {30, 900}, {30, 25}}});
            painter.setBrush(Qt::red);
            painter.setPen(Qt::NoPen);
            painter.drawRect(25, 5, 60, 10);
            painter.drawImage(QRect(10, 30, 60, 4), QImage(30, 2, QImage::Format_RGB32));
            painter.setPen(Qt::black);
            painter.drawText(QPointF(2, 30), QStringLiteral("in"));
            painter.drawText(QPointF(60, 30), QStringLiteral("out"));
            painter.setClipping(false);
            painter.setPen(QPen(Qt::black, 4));
            painter.drawLine(QPointF(60, 50), QPointF(80, 50));
        });
        const QByteArray svg = svgOf(picture);
        QVERIFY(svg.contains(">in<") && !svg.contains(">out<"));
        QSvgRenderer renderer(svg);
        QImage image(100, 80, QImage::Format_RGB32);
        image.fill(picture.background);
        QPainter painter(&image);
        renderer.render(&painter);
        painter.end();
        const auto isBlank = [&](const QRect& part) {
            const QImage of = image.copy(part);
            return colorsOf(of) == 1 && of.pixel(0, 0) == picture.background.rgb();
        };
        QVERIFY(isBlank(QRect(0, 0, 100, 8)) && isBlank(QRect(0, 0, 8, 80)) &&
                isBlank(QRect(53, 0, 47, 57)) && isBlank(QRect(0, 53, 60, 27)));
        QVERIFY(image.pixel(92, 72) == qRgb(0, 255, 0) && isBlank(QRect(70, 66, 19, 14)));
        QVERIFY(image.pixel(62, 77) == qRgb(0, 0, 255));
        QVERIFY(image.pixel(15, 40) == qRgb(0, 0, 0) && image.pixel(45, 20) == qRgb(255, 0, 0));
        QVERIFY(image.pixel(80, 60) == qRgb(0, 0, 0));
    }

    /// Also of a panel that is too low for its rows.
    void theTimelineHasAllRows() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()),
                           m_place->write("eight.json", test::uniform_machine(8))));
        TimelineView timeline;
        timeline.setData(shown.document.timeline());
        timeline.resize(600, 120);
        timeline.show();
        QVERIFY(QTest::qWaitForWindowExposed(&timeline));
        QVERIFY(timeline.wholeSize().height() > 2 * timeline.height());
        const Picture picture = recordPicture(
            timeline.wholeSize(), [&](QPainter& painter, const QRectF&) { timeline.renderWhole(painter); });
        const QString text = QString::fromUtf8(svgOf(picture));
        for (const Device& device : shown.document.job().machine->devices())
            QVERIFY2(text.contains(QString::fromStdString('>' + device.name + '<')), device.name.c_str());
        QVERIFY(!text.contains(QStringLiteral("<image")));  // lines and texts, not a photo of the panel
    }

    void theReportIsOneFileWithPictures() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        shown.document.startSearch(request("hill-climbing", 100));
        QVERIFY(shown.waitUntilIdle());
        const QString file = m_place->file("wide.report.html");
        test::giveFile(file);
        test::pressInMenu(shown, shown.window.action(ActionId::exportReport));
        QTRY_VERIFY2(shown.message().contains(QStringLiteral("Report written to ")),
                     qPrintable(shown.message()));
        QFile written(file);
        QVERIFY(written.open(QIODevice::ReadOnly));
        const QString html = QString::fromUtf8(written.readAll());
        QCOMPARE(html.count(QStringLiteral("<svg")), 2);  // graph and timeline
        QVERIFY(html.contains(QStringLiteral("hill-climbing with seed")));
        for (const char* outside : {"<?xml", "<!DOCTYPE svg", "<script", " href=", " src=\"http"})
            QVERIFY2(!html.contains(QLatin1String(outside)), outside);
    }

    void aLargePictureIsWrittenBehindTheWindow() {
        Shown shown;
        QVERIFY(shown.open(QStringLiteral("nmt2"), m_machine));
        shown.document.setClosedModules({});
        QVERIFY(shown.waitUntilIdle());
        const QString file = m_place->file("large.png");
        QSize proposed;
        // Takes one of the sizes that the dialog offers, the largest first.
        const auto choose = [&](qsizetype size) {
            auto* timer = new QTimer(&shown.window);
            connect(timer, &QTimer::timeout, timer, [timer, size, &proposed] {
                auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
                if (dialog == nullptr) return;
                timer->stop();
                timer->deleteLater();
                const QString chosen = dialog->comboBoxItems().value(size);
                const QStringList words = chosen.split(u' ');
                proposed = QSize(words.value(0).toInt(), words.value(2).toInt());
                dialog->setTextValue(chosen);
                dialog->accept();
            });
            timer->start(60);
        };
        test::giveFile(file);
        choose(2);
        shown.action("Picture of the graph")->trigger();
        // The file is written later, while the window answers.
        QVERIFY(!QFile::exists(file));
        QTRY_VERIFY_WITH_TIMEOUT(shown.message().contains(file), 60'000);
        QImageReader::setAllocationLimit(0);
        const QImage image(file);
        QCOMPARE(image.size(), proposed);
        QVERIFY(colorsOf(image) > 8);

        // A cancelled one leaves no file.
        QTRY_VERIFY(shown.window.findChild<PictureExport*>() == nullptr);
        const QString second = m_place->file("second.png");
        test::giveFile(second);
        choose(0);
        shown.action("Picture of the graph")->trigger();
        auto* progress = shown.window.findChild<QProgressDialog*>();
        QVERIFY(progress != nullptr);
        progress->findChild<QPushButton*>()->click();
        QTRY_VERIFY_WITH_TIMEOUT(shown.window.findChild<PictureExport*>() == nullptr, 60'000);
        QVERIFY(!QFile::exists(second));
    }

    void aWrongSuffixIsAnError() {
        const QString file = m_place->file("picture.bmp");
        try {
            writePicture(file, recordPicture(QSizeF(10, 10), [](QPainter&, const QRectF&) {}));
            QFAIL("accepted");
        } catch (const InputError& error) {
            QVERIFY(QString::fromUtf8(error.what()).contains(QLatin1String("picture.bmp")));
            QVERIFY(QString::fromUtf8(error.what()).contains(QLatin1String(".png")));
        }
        QVERIFY(!QFile::exists(file));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowPicture)
#include "tst_window_picture.moc"
