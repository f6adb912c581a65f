// SPDX-License-Identifier: MIT
#pragma once

#include <QComboBox>

namespace placewright {

/// Choice of an algorithm. The list has them by group, each with the colour of its runs and a sentence on
/// what it does; closed, the box shows the title alone. The data of an item is the algorithm's id.
class AlgorithmBox : public QComboBox {
    Q_OBJECT
public:
    /// Of the summary of an item.
    static constexpr int kSummaryRole = Qt::UserRole + 1;

    explicit AlgorithmBox(QWidget* parent = nullptr);
    void showPopup() override;

protected:
    void changeEvent(QEvent*) override;

private:
    void updateIcons();
};

}  // namespace placewright
