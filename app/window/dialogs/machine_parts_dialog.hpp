// SPDX-License-Identifier: MIT
#pragma once

#include <QDialog>

class QComboBox;
class QLabel;
class QPushButton;
class QSpinBox;

namespace placewright {

/// Asks for the parts of a machine: GPUs of one or two models, their link, the CPU.
class MachinePartsDialog : public QDialog {
    Q_OBJECT
public:
    explicit MachinePartsDialog(QWidget* parent = nullptr);

    /// The parts as find_machine() reads them: "2x NVIDIA GeForce RTX 4090, PCIe 4.0 x8, Ryzen 9 5950X".
    QString machine() const;

private:
    /// A number of GPUs of a model.
    struct Gpus {
        QSpinBox* count = nullptr;
        QComboBox* model = nullptr;
    };
    Gpus makeGpus(const QString& name, int least, const QString& chosen);
    void showResult();

    Gpus m_first, m_second;
    QComboBox* m_link = nullptr;
    QComboBox* m_cpu = nullptr;
    QLabel* m_result = nullptr;
    QPushButton* m_ok = nullptr;
};

}  // namespace placewright
