// SPDX-License-Identifier: MIT
#pragma once

#include <QHash>
#include <QImage>
#include <QTextBrowser>
#include <QUrl>
#include <QWidget>

class QAction;
class QLineEdit;
class QTextTable;
class QTreeWidget;
class QTreeWidgetItem;

namespace placewright {

/// Shows pages of the help with room between their lines, and finds the headings that links name.
class HelpBrowser : public QTextBrowser {
    Q_OBJECT
public:
    explicit HelpBrowser(QWidget* parent = nullptr);
    /// Does nothing if no heading of the page has this anchor.
    void scrollToHeading(const QString& anchor);

protected:
    void resizeEvent(QResizeEvent*) override;
    QVariant loadResource(int type, const QUrl& name) override;

private:
    void format();
    void formatTable(QTextTable& table, double line) const;
    QImage picture(const QUrl& address);
    /// Makes pictures that are wider than the page as wide as it is.
    void fitPictures();

    QHash<QString, QImage> m_pictures;  ///< by path
};

/// A window with the pages of the help: their list or the hits of a search at the left, the page at the
/// right.
class HelpWindow : public QWidget {
    Q_OBJECT
public:
    explicit HelpWindow(QWidget* parent = nullptr);

    /// Shows the page with this name, at the heading of an anchor ("runs#curve"), or the index, and brings
    /// the window to the front.
    void open(const QString& page);
    /// The name of the page on screen.
    QString page() const;

private:
    void list(const QString& words);
    void openItem(QTreeWidgetItem* item);
    /// Selects the page on screen in the list, if that shows all pages.
    void showPage();
    void markWords();

    QLineEdit* m_search = nullptr;
    QTreeWidget* m_list = nullptr;
    HelpBrowser* m_browser = nullptr;
    QAction *m_back = nullptr, *m_forward = nullptr;
};

/// Opens the help on the panel in focus with F1, and its index with Shift+F1, in every window of the program.
/// One for the application.
class HelpKeys : public QObject {
    Q_OBJECT
public:
    /// `window`: the main window, whose own actions answer the keys there.
    explicit HelpKeys(QWidget* window);

    /// Opens the page, beside the dialog that holds all keys if there is one.
    void open(const QString& page);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* m_window;
    HelpWindow* m_help = nullptr;  ///< null until it is opened first
};

}  // namespace placewright
