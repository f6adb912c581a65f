// SPDX-License-Identifier: MIT
// What the program does where an event handler throws.
#include <stdexcept>

#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>

#include "app/window/application.hpp"

using namespace placewright;

class TestApplication : public QObject {
    Q_OBJECT

    static QString problemOf(const std::function<void()>& work) {
        const QSignalSpy failed(qobject_cast<Application*>(qApp), &Application::failed);
        work();
        if (!QTest::qWaitFor([&] { return !failed.isEmpty(); }) || failed.size() != 1) return {};
        return failed.front().front().toString();
    }

private Q_SLOTS:
    void errorsOfHandlersAreTold() {
        QPushButton button;
        connect(&button, &QPushButton::clicked,
                [] { throw std::runtime_error("net.json: there is no such file"); });
        button.show();
        QVERIFY(QTest::qWaitForWindowExposed(&button));
        const QString wanted =
            "The last action failed: net.json: there is no such file. Save your work and restart "
            "Placewright.";
        QCOMPARE(problemOf([&] { QTest::mouseClick(&button, Qt::LeftButton); }), wanted);
        QCOMPARE(problemOf([&] { QTest::keyClick(&button, Qt::Key_Space); }), wanted);
        QVERIFY(problemOf([] {
                    QTimer::singleShot(0, qApp, [] { throw std::bad_alloc(); });
                }).startsWith("The last action failed: "));
    }

    void eventsGoOn() {
        QPushButton button;
        int clicks = 0;
        connect(&button, &QPushButton::clicked, [&] {
            if (++clicks == 1) throw std::runtime_error("once");
        });
        button.show();
        QVERIFY(QTest::qWaitForWindowExposed(&button));
        for (int i = 0; i < 3; ++i) QTest::mouseClick(&button, Qt::LeftButton);
        QCOMPARE(clicks, 3);
    }
};

int main(int argc, char** argv) {
    Application app(argc, argv);
    TestApplication test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_application.moc"
