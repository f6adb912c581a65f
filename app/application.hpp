// SPDX-License-Identifier: MIT
#pragma once

#include <QApplication>

namespace placewright {

/// Keeps running where an event handler fails by an error that nothing caught: what the user has open can be saved still.
class Application : public QApplication {
    Q_OBJECT

public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override;

Q_SIGNALS:
    /// After an event was handled only partly: what is wrong, as a sentence for the user.
    void failed(const QString& problem);
};

}  // namespace placewright
