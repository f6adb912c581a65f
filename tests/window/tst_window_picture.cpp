// SPDX-License-Identifier: MIT
// Pictures of the views.
#include <functional>
#include <memory>
#include <set>

#include <QApplication>
#include <QImage>
#include <QImageReader>
#include <QInputDialog>
#include <QPainter>
#include <QProgressDialog>
#include <QPushButton>
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
            for (const char* suffix : {"png", "svg"})
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
             {window.timelineView()->size(),
              [&](QPainter& p, const QRectF&) { window.timelineView()->render(&p); }}},
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
        QVERIFY(writePicture(file, recordPicture(size, paint)));

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
        }
        QVERIFY2(colorsOf(image) > 8, qPrintable(QString::number(colorsOf(image))));
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
