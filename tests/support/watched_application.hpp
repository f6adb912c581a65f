// SPDX-License-Identifier: MIT
// Finds what blocks a window: how long each event handler keeps the thread from its event loop.
#pragma once

#include <functional>
#include <string>

#include <QApplication>

namespace placewright::test {

/// An application that measures its event handlers: all that happens between an event loop's delivery of an
/// event and its return to the loop. A handler with an event loop of its own (a dialog) is measured up to
/// that loop and from its end on; what a test function does itself, outside of all events, is not measured.
class WatchedApplication : public QApplication {
    Q_OBJECT
public:
    /// A handler that has ended.
    struct Handler {
        double cpu_s = 0;   ///< processor time of the window's thread, which other work does not change
        double wall_s = 0;  ///< time on the clock
        std::string what;   ///< "Timer to QTimer 'roomTimer' of MainWindow"
    };
    using Observer = std::function<void(const Handler&)>;

    WatchedApplication(int& argc, char** argv);

    /// The application of this test program; null if it is not watched.
    static WatchedApplication* instance();

    /// Sets what is told of each handler that took `least_s` of processor time or more.
    void observe(double least_s, Observer observer);

    bool notify(QObject* receiver, QEvent* event) override;

private:
    friend class Unwatched;

    /// An event and its receiver, which may not outlive the handler.
    struct Delivery {
        int type = 0;
        const QMetaObject* receiver = nullptr;
        const QMetaObject* parent = nullptr;
        QString receiverName, parentName;
    };

    void begin();
    /// Ends what began last, in the handler of this delivery.
    void end(const Delivery& delivery);
    /// An event loop goes on, perhaps one within a handler.
    void enterLoop();

    Observer m_observer;
    double m_least_s = 0;
    int m_depth = 0;                   ///< number of events that are being handled, one within the other
    int m_base = 0;                    ///< how many of them wait for the innermost event loop
    int m_unwatched = 0;               ///< number of Unwatched objects
    Delivery m_delivery;               ///< the latest to an outermost handler
    double m_cpu_s = 0, m_wall_s = 0;  ///< when the present handler began
};

/// As long as one of these exists, handlers count for nothing: for what a test itself does in a handler, or
/// for one that cannot be made faster. `reason` is for the reader, with the time taken.
class Unwatched {
public:
    explicit Unwatched(const char* reason);
    ~Unwatched();
    Unwatched(const Unwatched&) = delete;
    Unwatched& operator=(const Unwatched&) = delete;
};

/// Longest time that a window may keep a person waiting, in processor time of its thread; longer on
/// processors that are slower than those of desktops.
double longestStall_s();

/// Fails the running test function for each handler that takes longer than longestStall_s().
void failForStalls(WatchedApplication& application);

}  // namespace placewright::test

/// As QTEST_MAIN, and a handler that blocks the window fails the test. For all tests with a main window.
#define PLACEWRIGHT_WINDOW_TEST_MAIN(TestObject)                                           \
    QTEST_MAIN_WRAPPER(TestObject, QTEST_QAPP_SETUP(placewright::test::WatchedApplication) \
                                       placewright::test::failForStalls(app);)
