// SPDX-License-Identifier: MIT
#pragma once

#include <QApplication>

namespace placewright {

/// Keeps running after an uncaught exception in an event handler, so that the user can still save.
class Application : public QApplication {
    Q_OBJECT

public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override;

Q_SIGNALS:
    /// Emitted after an event was handled only partly; `problem` is a sentence for the user.
    void failed(const QString& problem);
};

}  // namespace placewright
