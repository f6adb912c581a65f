// SPDX-License-Identifier: MIT
#pragma once

#include <QObject>

namespace placewright {

/// Turns SIGTERM, SIGINT and SIGHUP into a signal of Qt on the thread of the event loop, so that the window
/// can keep its session. While the request is handled, a second SIGTERM, SIGINT or SIGHUP ends the program at
/// once. A signal that the program was started to ignore (nohup) stays ignored. One object at a time.
class Termination : public QObject {
    Q_OBJECT

public:
    explicit Termination(QObject* parent = nullptr);
    ~Termination() override;

Q_SIGNALS:
    void requested();

private:
    void handle();
};

}  // namespace placewright
