// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QWidget>

#include "widgets/start_picture.hpp"

class QAbstractButton;
class QGridLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace placewright {

/// A network of the gallery, a recent file or a machine.
struct StartEntry {
    QString title;
    QString detail;  ///< "316 ops · 11.4 GFLOP", a second line; the folder of a recent file; "4 GPUs, 1 CPU"
    QString path;    ///< or the name of a machine that ships
    bool available = true;      ///< false: the file no longer exists; shown in grey
    StartPicture picture = {};  ///< only of networks of the gallery
    QString section = {};       ///< kind of network; may be empty
};

/// The page of a window without a network: three steps to a first result, "Open model…", recent files, a
/// gallery of the bundled networks by kind, and the machines.
class StartPage : public QWidget {
    Q_OBJECT
public:
    explicit StartPage(QWidget* parent = nullptr);
    void setRecent(const std::vector<StartEntry>& entries);
    /// Entries of one section are side by side in the list.
    void setGallery(const std::vector<StartEntry>& entries);
    void setMachines(const std::vector<StartEntry>& entries);
    /// Says on what networks are placed: the title of a machine, and its name if it ships.
    void showMachine(const QString& title, const QString& name);
    /// Offers to place networks on this computer, of which `summary` says what it has; says so where it is
    /// `used` already.
    void offerComputer(const QString& summary, bool used);

    /// Offers to go back to the network that is open; an empty name withdraws the offer.
    void offerBack(const QString& network);

Q_SIGNALS:
    /// "Open model…" was pressed.
    void openRequested();
    /// The user chose a recent file or a network of the gallery.
    void fileChosen(const QString& path);
    /// The user chose a machine that ships, by its name.
    void machineChosen(const QString& name);
    /// The user took the offer of this computer.
    void computerChosen();
    /// The user took the offer to go back, or pressed Escape.
    void backRequested();

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent*) override;

private:
    /// Puts as many cards side by side as fit.
    void arrangeGallery();
    QGridLayout* addGrid(QVBoxLayout* to);

    QWidget* m_content = nullptr;
    QPushButton *m_useComputer = nullptr, *m_back = nullptr;
    QLabel* m_computer = nullptr;
    QVBoxLayout* m_recent = nullptr;
    QLabel* m_noRecent = nullptr;
    QVBoxLayout* m_gallery = nullptr;
    QLabel *m_recentTitle = nullptr, *m_galleryTitle = nullptr, *m_machinesTitle = nullptr;
    QLabel* m_machine = nullptr;
    std::vector<QAbstractButton*> m_recentButtons, m_machineButtons;
    QGridLayout* m_machines = nullptr;
    /// The networks of one kind.
    struct Section {
        QLabel* title;
        QGridLayout* grid;
        std::vector<QAbstractButton*> cards;
    };
    std::vector<Section> m_sections;
    int m_columns = 0;
};

}  // namespace placewright
