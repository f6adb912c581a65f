// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

#include <QCoreApplication>
#include <QMetaObject>
#include <QObject>
#include <QString>
#include <QThreadPool>

namespace placewright {

/// Work off the window's thread, where the latest request of a lane wins: a newer one asks the older to stop
/// and its result is dropped. Results and errors arrive on the thread that owns the object. Each request ends
/// in exactly one of done, failed or dropped.
class Background : public QObject {
    Q_OBJECT
public:
    /// One kind of work, of which only the latest request matters. Must live as long as the Background.
    class Lane {
    public:
        bool busy() const { return m_busy; }
        /// Asks the work to stop; its result will be dropped.
        void cancel() {
            m_stop.request_stop();
            ++m_newest;
            m_busy = false;
        }

    private:
        friend class Background;
        /// Not inlined, since GCC 12 then warns of a source that is not initialised, which it is.
        [[gnu::noinline]] void renew() { m_stop = std::stop_source(); }

        std::uint64_t m_newest = 0;
        bool m_busy = false;
        std::stop_source m_stop;
    };

    /// `threads`: maximum number of threads, which all lanes share; further work waits for one.
    explicit Background(int threads) { m_pool.setMaxThreadCount(threads); }
    ~Background() override { m_pool.waitForDone(); }

    /// `work(stop_token)` runs on another thread and returns a value; then `done(value)` or `failed(text)` is
    /// called here.
    template <class Work, class Done, class Failed>
    void run(Lane& lane, Work work, Done done, Failed failed) {
        lane.cancel();
        lane.renew();
        lane.m_busy = true;
        m_pool.start([this, &lane, id = lane.m_newest, stop = lane.m_stop.get_token(), work = std::move(work),
                      done = std::move(done), failed = std::move(failed)]() mutable {
            using Result = decltype(work(stop));
            std::shared_ptr<Result> result;
            QString error;
            try {
                // Work that was superseded while it waited for a thread is not started.
                if (!stop.stop_requested()) result = std::make_shared<Result>(work(stop));
            } catch (const std::exception& exception) {
                error = QString::fromUtf8(exception.what());
            }
            QMetaObject::invokeMethod(
                this,
                [this, &lane, id, result, error, done = std::move(done), failed = std::move(failed)] {
                    if (lane.m_newest == id) {
                        lane.m_busy = false;
                        if (result) {
                            done(std::move(*result));
                        } else {
                            failed(error);
                        }
                    }
                    Q_EMIT settled();
                },
                Qt::QueuedConnection);
        });
    }

    /// Waits until all work has ended; its results arrive later.
    void finish() { m_pool.waitForDone(); }
    /// Waits at most that long; if all work has ended, its results have arrived.
    bool finishWithin(int ms) {
        if (!m_pool.waitForDone(ms)) return false;
        QCoreApplication::sendPostedEvents(this);
        return true;
    }

Q_SIGNALS:
    /// A request ended: done, failed or dropped.
    void settled();

private:
    QThreadPool m_pool;
};

}  // namespace placewright
