// SPDX-License-Identifier: MIT
#include "app/window/picture_export.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include <QFileInfo>
#include <QInputDialog>
#include <QWidget>

namespace placewright {
namespace {

/// From this size on the user chooses the size of a PNG.
constexpr double kLargePixels = 16e6;

double pixels(QSize size) {
    return static_cast<double>(size.width()) * size.height();
}

}  // namespace

std::optional<double> askPictureScale(QWidget* parent, const QString& file, const Picture& picture) {
    if (QFileInfo(file).suffix().toLower() != QLatin1String("png") ||
        pixels(pixelsOf(picture, kPrintScale)) <= kLargePixels)
        return kPrintScale;
    QStringList names;
    std::vector<double> scales;
    int proposed = 0;
    for (const double scale : {kPrintScale, 1.0, 0.5, 0.25}) {
        const QSize size = pixelsOf(picture, scale);
        const double percent = 100 * size.width() / picture.size.width();
        const QString name = PictureExport::tr("%1 × %2 pixels (%3 %)")
                                 .arg(size.width())
                                 .arg(size.height())
                                 .arg(std::lround(percent));
        if (names.contains(name)) continue;  // both are limited to the same size
        names << name;
        scales.push_back(scale);
        if (pixels(pixelsOf(picture, scales[static_cast<std::size_t>(proposed)])) > kLargePixels)
            proposed = static_cast<int>(names.size()) - 1;
    }
    bool accepted = false;
    const QString chosen =
        QInputDialog::getItem(parent, PictureExport::tr("Size of the picture"), PictureExport::tr("Size:"),
                              names, proposed, false, &accepted);
    if (!accepted) return {};
    return scales[static_cast<std::size_t>(names.indexOf(chosen))];
}

PictureExport::PictureExport(const QString& file, Picture picture, double scale, QWidget* window)
    : QObject(window), m_dialog(new QProgressDialog(window)) {
    m_dialog->setWindowTitle(tr("Export"));
    m_dialog->setLabelText(tr("Painting %1…").arg(QFileInfo(file).fileName()));
    m_dialog->setRange(0, 100);
    m_dialog->setAutoReset(false);
    m_dialog->setAutoClose(false);
    m_dialog->setMinimumDuration(300);
    m_dialog->setValue(0);
    connect(m_dialog, &QProgressDialog::canceled, this, [this] {
        m_lane.cancel();
        m_dialog->hide();
    });
    connect(&m_background, &Background::settled, this, &QObject::deleteLater);
    m_background.run(
        m_lane,
        [this, file, picture = std::move(picture), scale](const std::stop_token& stop) {
            return writePicture(file, picture, scale, stop, [this](double painted) {
                QMetaObject::invokeMethod(
                    this, [this, painted] { showProgress(painted); }, Qt::QueuedConnection);
            });
        },
        [this, file](bool) { Q_EMIT written(file); }, [this](const QString& error) { Q_EMIT failed(error); });
}

PictureExport::~PictureExport() {
    m_lane.cancel();
    delete m_dialog;
}

void PictureExport::showProgress(double painted) {
    if (!m_dialog || !m_lane.busy()) return;  // cancelled
    m_dialog->setValue(static_cast<int>(100 * painted));
    if (painted < 1) return;
    // The share that is compressed is not known.
    m_dialog->setLabelText(tr("Compressing the picture…"));
    m_dialog->setRange(0, 0);
}

}  // namespace placewright
