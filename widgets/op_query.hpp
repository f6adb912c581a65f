// SPDX-License-Identifier: MIT
// What is typed to find ops: words, filters by kind, device, module and duration, and regular expressions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <QRegularExpression>
#include <QString>

#include "widgets/op_view.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// A query such as `conv device:gpu:1 >10ms`: an op is found if all its parts hold.
///
/// `kind:`, `name:`, `module:` and `device:` are filters; `>10ms`, `<=2us` compare the time that an op and
/// its derived ops take in a batch; `value>3` compares values from a file. A plain word is looked for in the
/// kinds and in the last parts of the names; where no op has it there, in the modules. Upper and lower case
/// are alike.
class OpQuery {
public:
    /// `regex`: words and the texts of filters, except `device:`, are regular expressions.
    OpQuery(const QString& text, bool regex);

    bool isEmpty() const { return m_parts.empty() && m_error.isEmpty(); }
    /// What cannot be understood; such a query finds nothing.
    const QString& error() const { return m_error; }

    struct Found {
        OpList ops;
        /// Where the words were found: "by kind", "by kind or name", "by module"; empty for filters alone.
        QString where;
    };
    /// `devices`, `values`: by op id; NaN: no value. Without a timeline no op has a duration, without values
    /// no value. O(ops * parts + spans).
    Found find(const Problem& problem, const std::vector<DeviceId>& devices, const TimelineData* timeline,
               const std::vector<double>* values = nullptr) const;
    bool asksForValues() const;

private:
    enum class Field { any, kind, name, module, device, longer, atLeast, shorter, atMost };
    struct Part {
        Field field = Field::any;
        QRegularExpression pattern{};
        QString text{};  ///< of a device
        double seconds = 0;
        bool isValue = false;  ///< compares the value, not the duration
    };
    void add(const QString& word, bool regex);

    std::vector<Part> m_parts;
    QString m_error;
};

/// Share of the ops, with what is derived from them, in all time that devices compute.
double shareOfCompute(const TimelineData& timeline, const OpList& ops);

}  // namespace placewright
