// SPDX-License-Identifier: MIT
#pragma once

#include <QObject>
#include <QPointer>
#include <QProgressDialog>

#include "app/window/background.hpp"
#include "app/window/picture.hpp"

class QWidget;

namespace placewright {

class Document;

/// Writes a report of the placement on screen as one HTML file on a thread of its own, with Cancel where it
/// takes longer than a moment. Deletes itself at the end; deleted earlier, it cancels.
class ReportExport : public QObject {
    Q_OBJECT
public:
    /// `graph`: the picture of the graph in the report.
    ReportExport(const QString& file, const Document& document, Picture graph, QWidget* window);
    ~ReportExport() override;

Q_SIGNALS:
    void written(const QString& file);
    void failed(const QString& reason);

private:
    QPointer<QProgressDialog> m_dialog;  ///< a child of the window, which may delete it first
    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
