// SPDX-License-Identifier: MIT
// Spans of traces: what tests compare, with the first difference as text.
#pragma once

#include <array>
#include <vector>

#include <QByteArray>
#include <QTest>

#include "core/sim/simulator.hpp"

namespace placewright::test {

inline constexpr std::array kOrders{Order::fifo, Order::critical_path, Order::gpipe,
                                    Order::one_forward_one_backward};

/// "op 3 on device 0, batch 1: queued 0, 1 to 2".
QByteArray text(const Span& span);

/// Describes the first span that differs; empty if none does.
QByteArray difference(const std::vector<Span>& actual, const std::vector<Span>& expected);

}  // namespace placewright::test

#define COMPARE_SPANS(actual, ...)                                                   \
    do {                                                                             \
        const QByteArray wrong = placewright::test::difference(actual, __VA_ARGS__); \
        QVERIFY2(wrong.isEmpty(), wrong.constData());                                \
    } while (false)
