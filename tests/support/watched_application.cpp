// SPDX-License-Identifier: MIT
#include "tests/support/watched_application.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <utility>
#include <vector>

#include <QAbstractEventDispatcher>
#include <QEvent>
#include <QMetaEnum>
#include <QTest>
#include <QThread>

namespace placewright::test {
namespace {

double threadTime_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double clockTime_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How many times as long as a desktop processor this one takes, at least 1: the processor time in which it
/// sorts numbers, by that of a core with 3.5 GHz.
double slowness() {
    constexpr double kDesktop_s = 0.013;
    double least_s = 1;
    for (int i = 0; i < 3; ++i) {
        std::vector<std::uint32_t> numbers(std::size_t{1} << 18);
        std::uint32_t last = 1;
        for (std::uint32_t& number : numbers) number = last = last * 1664525U + 1013904223U;
        const double begin_s = threadTime_s();
        std::ranges::sort(numbers);
        least_s = std::min(least_s, threadTime_s() - begin_s);
    }
    return std::max(1.0, least_s / kDesktop_s);
}

std::string nameOf(const QMetaObject& type, const QString& name) {
    return type.className() + (name.isEmpty() ? std::string() : " '" + name.toStdString() + "'");
}

std::string eventName(int type) {
    const char* const key = QMetaEnum::fromType<QEvent::Type>().valueToKey(type);
    return key != nullptr ? key : "event " + std::to_string(type);
}

}  // namespace

WatchedApplication::WatchedApplication(int& argc, char** argv) : QApplication(argc, argv) {
    const QAbstractEventDispatcher* const loop = QAbstractEventDispatcher::instance();
    connect(loop, &QAbstractEventDispatcher::aboutToBlock, this, &WatchedApplication::enterLoop);
    connect(loop, &QAbstractEventDispatcher::awake, this, &WatchedApplication::enterLoop);
}

WatchedApplication* WatchedApplication::instance() {
    return qobject_cast<WatchedApplication*>(QCoreApplication::instance());
}

void WatchedApplication::observe(double least_s, Observer observer) {
    m_least_s = least_s;
    m_observer = std::move(observer);
}

bool WatchedApplication::notify(QObject* receiver, QEvent* event) {
    if (QThread::currentThread() != thread()) return QApplication::notify(receiver, event);
    const bool outermost = m_depth == m_base;
    if (outermost) {
        m_delivery = {event->type(), receiver->metaObject(), nullptr, receiver->objectName(), {}};
        if (const QObject* const parent = receiver->parent()) {
            m_delivery.parent = parent->metaObject();
            m_delivery.parentName = parent->objectName();
        }
        begin();
    }
    const Delivery delivery = m_delivery;
    ++m_depth;
    const bool handled = QApplication::notify(receiver, event);
    --m_depth;
    // Loops within the handler have ended.
    const bool looped = m_depth < m_base;
    m_base = std::min(m_base, m_depth);
    if (outermost || looped) end(delivery);
    return handled;
}

void WatchedApplication::begin() {
    m_cpu_s = threadTime_s();
    m_wall_s = clockTime_s();
}

void WatchedApplication::end(const Delivery& delivery) {
    const double cpu_s = threadTime_s() - m_cpu_s;
    if (m_unwatched == 0 && m_observer && cpu_s >= m_least_s) {
        std::string what =
            eventName(delivery.type) + " to " + nameOf(*delivery.receiver, delivery.receiverName);
        if (delivery.parent != nullptr) what += " of " + nameOf(*delivery.parent, delivery.parentName);
        m_observer({cpu_s, clockTime_s() - m_wall_s, what});
    }
    begin();
}

void WatchedApplication::enterLoop() {
    if (m_depth == m_base) return;
    end(m_delivery);
    m_base = m_depth;
}

Unwatched::Unwatched(const char*) {
    if (auto* application = WatchedApplication::instance()) ++application->m_unwatched;
}

Unwatched::~Unwatched() {
    auto* application = WatchedApplication::instance();
    if (application == nullptr) return;
    --application->m_unwatched;
    application->begin();
}

double longestStall_s() {
    static const double longest_s = PLACEWRIGHT_LONGEST_STALL_S * slowness();
    return longest_s;
}

void failForStalls(WatchedApplication& application) {
    application.observe(longestStall_s(), [](const WatchedApplication::Handler& handler) {
        const QByteArray text = QByteArrayLiteral("the window was blocked: ") + handler.what.c_str() +
                                " took " + QByteArray::number(1e3 * handler.cpu_s, 'f', 0) +
                                " ms of processor time; at most " +
                                QByteArray::number(1e3 * longestStall_s(), 'f', 0) + " ms are allowed";
        QTest::qFail(text.constData(), __FILE__, __LINE__);
    });
}

}  // namespace placewright::test
