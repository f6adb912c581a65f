// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QTimer>
#include <QWidget>

#include "core/machine/machine_edit.hpp"

class QLabel;
class QPushButton;
class QSlider;

namespace placewright {

class Document;
class TopologyView;

/// The machine as a picture, and sliders that change bandwidth, memory and speed of all of it, or of what is
/// selected in the picture, by a factor. The window follows while a slider moves.
class WhatIfPanel : public QWidget {
    Q_OBJECT
public:
    explicit WhatIfPanel(Document* document, QWidget* parent = nullptr);

    TopologyView* topology() const { return m_topology; }
    void focusFirst();
    /// The factor at a position of a slider, and back.
    static double factorAt(int position);
    static int positionOf(double factor);

Q_SIGNALS:
    void editRequested();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Row {
        QSlider* slider = nullptr;
        QLabel* value = nullptr;
        std::vector<double> WhatIf::*factors = nullptr;
        bool ofChannels = false;
    };
    void addRow(class QGridLayout* grid, const QString& title, const QString& name, const QString& tip,
                std::vector<double> WhatIf::*factors, bool ofChannels);
    /// The items that a row applies to.
    std::vector<std::size_t> itemsOf(const Row& row) const;
    void change(const Row& row);
    void showMachine();
    void showFactors();
    void showTarget();
    void showResult();

    Document* m_document;
    TopologyView* m_topology;
    std::vector<Row> m_rows;
    QLabel *m_target, *m_result;
    QPushButton *m_reset, *m_edit;
    QTimer m_ends;  ///< keys and the wheel have no end of their own
    bool m_showing = false;
};

}  // namespace placewright
