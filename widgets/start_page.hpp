// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QWidget>

#include "widgets/start_picture.hpp"

class QAbstractButton;
class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace placewright {

/// A network of the gallery or a recent file.
struct StartEntry {
    QString title;
    QString detail;  ///< "316 ops · 11.4 GFLOP · 27.2 M parameters", or the folder of a recent file
    QString path;
    bool available = true;      ///< false: greyed, the file is gone
    StartPicture picture = {};  ///< of a network of the gallery
};

/// What a window without a network shows: recent files, a gallery of the networks that ship, "Open model…", and three steps to a first
/// result.
class StartPage : public QWidget {
    Q_OBJECT
public:
    explicit StartPage(QWidget* parent = nullptr);
    void setRecent(const std::vector<StartEntry>& entries);
    void setGallery(const std::vector<StartEntry>& entries);

Q_SIGNALS:
    void openRequested();
    void fileChosen(const QString& path);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    /// As many cards side by side as there is room for.
    void arrangeGallery();
    void choose(QAbstractButton* button, const StartEntry& entry);

    QWidget* m_content = nullptr;
    QVBoxLayout* m_recent = nullptr;
    QLabel* m_noRecent = nullptr;
    QGridLayout* m_gallery = nullptr;
    QLabel* m_galleryTitle = nullptr;
    std::vector<QAbstractButton*> m_recentButtons, m_cards;
    int m_columns = 0;
};

}  // namespace placewright
