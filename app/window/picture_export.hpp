// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <QObject>
#include <QPointer>
#include <QProgressDialog>

#include "app/window/background.hpp"
#include "app/window/picture.hpp"

class QWidget;

namespace placewright {

/// Returns the pixels per point of a picture: kPrintScale, or what the user chooses for a large PNG; nothing
/// if the user cancels.
std::optional<double> askPictureScale(QWidget* parent, const QString& file, const Picture& picture);

/// Writes one picture on a thread of its own, with progress and Cancel where it takes longer than a moment.
/// Deletes itself at the end; deleted earlier, it cancels.
class PictureExport : public QObject {
    Q_OBJECT
public:
    PictureExport(const QString& file, Picture picture, double scale, QWidget* window);
    ~PictureExport() override;

Q_SIGNALS:
    void written(const QString& file);
    void failed(const QString& reason);

private:
    void showProgress(double painted);

    QPointer<QProgressDialog> m_dialog;  ///< a child of the window, which may delete it first
    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
