// SPDX-License-Identifier: MIT
#include "app/window/termination.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include <QSocketNotifier>

namespace placewright {
namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};

std::array<int, 2> pipeEnds{
    -1, -1};  ///< of a pipe: a signal handler may write a byte, but not emit a signal of Qt

void forward(int signal) {
    std::signal(signal, SIG_DFL);
    const char byte = 0;
    // The pipe is full only if a request is pending already.
    [[maybe_unused]] const ssize_t written = ::write(pipeEnds[1], &byte, 1);
}

void install(void (*handler)(int)) {
    for (const int signal : kSignals) {
        if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
}

}  // namespace

Termination::Termination(QObject* parent) : QObject(parent) {
    if (::pipe2(pipeEnds.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        return;  // signals end the program as usual then
    auto* notifier = new QSocketNotifier(pipeEnds[0], QSocketNotifier::Read, this);
    connect(notifier, &QSocketNotifier::activated, this, &Termination::handle);
    install(forward);
}

Termination::~Termination() {
    if (pipeEnds[0] < 0) return;
    install(SIG_DFL);
    ::close(pipeEnds[0]);
    ::close(pipeEnds[1]);
    pipeEnds = {-1, -1};
}

void Termination::handle() {
    std::array<char, 16> bytes{};
    [[maybe_unused]] const ssize_t count = ::read(pipeEnds[0], bytes.data(), bytes.size());
    install(SIG_DFL);
    Q_EMIT requested();
    install(forward);
}

}  // namespace placewright
