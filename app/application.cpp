// SPDX-License-Identifier: MIT
#include "app/application.hpp"

#include <exception>

namespace placewright {

bool Application::notify(QObject* receiver, QEvent* event) {
    // No exception may go through the event loop (https://doc.qt.io/qt-6/exceptionsafety.html).
    try {
        return QApplication::notify(receiver, event);
    } catch (const std::exception& error) {
        const QString problem =
            tr("This was not done: %1. Save what you have; the program may not be as it should.").arg(QString::fromUtf8(error.what()));
        // Later: who shows it may be in the middle of what has failed.
        QMetaObject::invokeMethod(
            this, [this, problem] { Q_EMIT failed(problem); }, Qt::QueuedConnection);
        return true;
    }
}

}  // namespace placewright
