// SPDX-License-Identifier: MIT
#include "app/window/application.hpp"

#include <exception>

namespace placewright {

bool Application::notify(QObject* receiver, QEvent* event) {
    // No exception may go through the event loop (https://doc.qt.io/qt-6/exceptionsafety.html).
    try {
        return QApplication::notify(receiver, event);
    } catch (const std::exception& error) {
        const QString problem = tr("The last action failed: %1. Save your work and restart Placewright.")
                                    .arg(QString::fromUtf8(error.what()));
        // Queued: the receiver may be in the middle of the handler that failed.
        QMetaObject::invokeMethod(
            this, [this, problem] { Q_EMIT failed(problem); }, Qt::QueuedConnection);
        return true;
    }
}

}  // namespace placewright
