// SPDX-License-Identifier: MIT
// Rows of files in the simulation dialog.
#pragma once

#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include "core/job/side_files.hpp"
#include "core/machine/machine.hpp"
#include "widgets/plain_text.hpp"

namespace placewright {

/// Gives a control a name for tests and a tooltip that wraps; returns the control.
template <class Control>
Control* named(Control* control, const char* name, const QString& help) {
    control->setObjectName(QString::fromLatin1(name));
    control->setToolTip(QStringLiteral("<qt>%1</qt>").arg(help.toHtmlEscaped()));
    return control;
}

/// The elided name of a file; the tooltip has the whole path.
class FileLabel : public QLabel {
public:
    explicit FileLabel(const QString& without = {}) : m_without(without) {
        setTextFormat(Qt::PlainText);
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
        setFile({});
    }

    const QString& file() const { return m_file; }
    void setFile(const QString& file) {
        m_file = file;
        m_name = file.isEmpty() ? m_without : QFileInfo(file).fileName();
        setToolTip(plainToolTip(file));
        setAccessibleName(m_name);
        updateGeometry();
        elide();
    }

    QSize sizeHint() const override {
        return {fontMetrics().horizontalAdvance(m_name) + 4, QLabel::sizeHint().height()};
    }
    QSize minimumSizeHint() const override {
        return {10 * fontMetrics().averageCharWidth(), QLabel::minimumSizeHint().height()};
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QLabel::resizeEvent(event);
        elide();
    }

private:
    void elide() { setText(fontMetrics().elidedText(m_name, Qt::ElideMiddle, width())); }

    QString m_without, m_file, m_name;
};

/// A trace with the device model that it was measured on and a button to remove it.
class TraceRow : public QWidget {
public:
    /// `machine` may be null.
    TraceRow(const Supplements::Times& times, const Machine* machine) {
        const QString file = QString::fromStdString(times.trace.string());
        auto* name = new FileLabel;
        name->setObjectName(QStringLiteral("traceFile"));
        name->setFile(file);
        auto* on = new QLabel(tr("measured on"));
        m_model = named(new QComboBox, "traceModel",
                        tr("Device model that this trace was measured on, needed if the trace "
                           "does not say; ops on other devices take roofline times."));
        m_model->setAccessibleName(tr("Measured on, for %1").arg(QFileInfo(file).fileName()));
        m_model->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        m_model->setMinimumContentsLength(16);
        m_model->addItem(tr("From the trace"), QString());
        if (machine != nullptr) {
            for (const Device& device : machine->devices())
                addModel(QString::fromStdString(device.model), {});
        }
        if (!times.model.empty()) addModel(QString::fromStdString(times.model), tr(" (not in this machine)"));
        m_model->setCurrentIndex(m_model->findData(QString::fromStdString(times.model)));
        m_remove =
            named(new QPushButton(tr("Remove")), "removeTrace", tr("Stop using this trace; the file stays"));
        m_remove->setAccessibleName(tr("Remove %1").arg(QFileInfo(file).fileName()));
        m_remove->setAutoDefault(false);
        m_file = name;
        auto* row = new QHBoxLayout(this);
        row->setContentsMargins(0, 0, 0, 0);
        row->addWidget(name, 1);
        row->addWidget(on);
        row->addWidget(m_model);
        row->addWidget(m_remove);
    }

    Supplements::Times times() const {
        return {m_file->file().toStdString(), m_model->currentData().toString().toStdString()};
    }
    QComboBox* model() const { return m_model; }
    QPushButton* removeButton() const { return m_remove; }

private:
    void addModel(const QString& model, const QString& remark) {
        if (m_model->findData(model) < 0) m_model->addItem(model + remark, model);
    }

    FileLabel* m_file = nullptr;
    QComboBox* m_model = nullptr;
    QPushButton* m_remove = nullptr;
};

}  // namespace placewright
