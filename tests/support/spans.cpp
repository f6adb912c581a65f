// SPDX-License-Identifier: MIT
#include "tests/support/spans.hpp"

#include <algorithm>

#include <QString>

namespace placewright::test {

QByteArray text(const Span& span) {
    const QString what = span.kind == Span::Kind::op
                             ? QString("op %1 on device %2").arg(span.op).arg(span.resource)
                             : QString("tensor %1 of op %2 from %3 to %4 on channel %5")
                                   .arg(span.tensor)
                                   .arg(span.op)
                                   .arg(span.from)
                                   .arg(span.to)
                                   .arg(span.resource);
    return QString("%1, batch %2: queued %3, %4 to %5")
        .arg(what)
        .arg(span.batch)
        .arg(span.queued_s)
        .arg(span.start_s)
        .arg(span.end_s)
        .toUtf8();
}

QByteArray difference(const std::vector<Span>& actual, const std::vector<Span>& expected) {
    for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
        if (actual[i] != expected[i])
            return QByteArray("span ") + QByteArray::number(qulonglong{i}) + ": " + text(actual[i]) +
                   "; expected " + text(expected[i]);
    }
    if (actual.size() == expected.size()) return {};
    return QByteArray::number(qulonglong{actual.size()}) + " spans; expected " +
           QByteArray::number(qulonglong{expected.size()});
}

}  // namespace placewright::test
