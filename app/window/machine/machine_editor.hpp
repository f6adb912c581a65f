// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include <QDialog>

#include "app/window/machine/figure_delegate.hpp"
#include "core/machine/machine_edit.hpp"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableWidget;
class QTabWidget;

namespace placewright {

class Document;
class TopologyView;

/// Tables of the devices, links and routes of the document's machine, and its picture; a row and what it
/// stands for in the picture are selected together. Every edit goes to the document as an undo step. It is a
/// window of its own, since the tables need more width than a panel has, and modeless, since the main window
/// shows what an edit does.
class MachineEditor : public QDialog {
    Q_OBJECT
public:
    explicit MachineEditor(Document* document, QWidget* parent = nullptr);

    QTableWidget* devices() const { return m_devices; }
    QTableWidget* links() const { return m_links; }
    QTableWidget* routes() const { return m_routes; }
    TopologyView* topology() const { return m_topology; }

Q_SIGNALS:
    void openRequested();
    void saveRequested();

protected:
    void showEvent(QShowEvent*) override;

private:
    QTableWidget* makeTable(const QString& name, const QStringList& titles, const QStringList& tips,
                            FigureDelegate::Rules rules);
    QWidget* makeDevices();
    QWidget* makeLinks();
    QWidget* makeRoutes();
    /// The edit that a text in a cell stands for. Throws MachineError.
    MachineEdit deviceEdit(const QModelIndex& cell, const QString& text) const;
    MachineEdit linkEdit(const QModelIndex& cell, const QString& text) const;
    MachineEdit routeEdit(const QModelIndex& cell, const QString& text) const;
    using EditOf = MachineEdit (MachineEditor::*)(const QModelIndex&, const QString&) const;
    FigureDelegate::Rules rulesOf(EditOf edit, std::function<QString(const QModelIndex&)> title,
                                  std::function<QStringList(const QModelIndex&)> choices = {});
    void enter(const QString& title, const std::function<MachineEdit()>& edit);
    void addDevice();
    void duplicateDevice();
    void removeDevice();
    void separateLink();
    void tell(const QString& problem);
    void showMachine();
    void fillDevices(const Machine& machine);
    void fillLinks(const Machine& machine);
    void fillRoutes(const Machine& machine);
    void selectRow();
    void selectInTables();
    std::shared_ptr<const Machine> machine() const;

    Document* m_document;
    TopologyView* m_topology;
    QLineEdit* m_name;
    QTabWidget* m_pages;
    QTableWidget *m_devices = nullptr, *m_links = nullptr, *m_routes = nullptr;
    QComboBox* m_model = nullptr;
    QPushButton *m_add = nullptr, *m_duplicate = nullptr, *m_remove = nullptr, *m_separate = nullptr;
    QLabel* m_state;
    bool m_filling = false;
};

}  // namespace placewright
