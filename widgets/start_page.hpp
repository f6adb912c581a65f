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

/// A network of the gallery, or a recent file.
struct StartEntry {
    QString title;
    QString detail;  ///< "316 ops · 11.4 GFLOP · 27.2 M parameters", or the folder of a recent file
    QString path;
    bool available = true;      ///< false: the file no longer exists; shown in grey
    StartPicture picture = {};  ///< only of networks of the gallery
};

/// The page of a window without a network: recent files, a gallery of the bundled networks, "Open model…",
/// and three steps to a first result.
class StartPage : public QWidget {
    Q_OBJECT
public:
    explicit StartPage(QWidget* parent = nullptr);
    void setRecent(const std::vector<StartEntry>& entries);
    void setGallery(const std::vector<StartEntry>& entries);
    /// Offers to place networks on this computer, of which `summary` says what it has; says so where it is
    /// `used` already.
    void offerComputer(const QString& summary, bool used);

Q_SIGNALS:
    /// "Open model…" was pressed.
    void openRequested();
    /// The user chose a recent file or a network of the gallery.
    void fileChosen(const QString& path);
    /// The user took the offer of this computer.
    void computerChosen();

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    /// Puts as many cards side by side as fit.
    void arrangeGallery();
    void choose(QAbstractButton* button, const StartEntry& entry);

    QWidget* m_content = nullptr;
    QPushButton* m_useComputer = nullptr;
    QLabel* m_computer = nullptr;
    QVBoxLayout* m_recent = nullptr;
    QLabel* m_noRecent = nullptr;
    QGridLayout* m_gallery = nullptr;
    QLabel* m_galleryTitle = nullptr;
    std::vector<QAbstractButton*> m_recentButtons, m_cards;
    int m_columns = 0;
};

}  // namespace placewright
