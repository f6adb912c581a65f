// SPDX-License-Identifier: MIT
#include "app/window/help/help_window.hpp"

#include <algorithm>
#include <span>

#include <QAction>
#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QResizeEvent>
#include <QScrollBar>
#include <QSplitter>
#include <QTextBlock>
#include <QTextTable>
#include <QTimer>
#include <QToolBar>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/window/help/help_pages.hpp"
#include "widgets/icons.hpp"

namespace placewright {
namespace {

constexpr int kPageRole = Qt::UserRole;
constexpr int kLineRole = Qt::UserRole + 1;
constexpr int kListLetters = 44;

/// Returns the address of a picture from its name in a page.
QUrl pictureAddress(const QUrl& name) {
    return QUrl(helpAddress(QStringLiteral("index"))).resolved(name);
}

}  // namespace

HelpBrowser::HelpBrowser(QWidget* parent) : QTextBrowser(parent) {
    // Links that leave the help, such as those to papers, open in the web browser.
    setOpenExternalLinks(true);
    setAccessibleName(tr("Page of the help"));
    document()->setDocumentMargin(20);
    // Also emitted on the way back, before the position in the page is restored.
    connect(this, &QTextBrowser::sourceChanged, this, [this](const QUrl& url) {
        format();
        if (url.hasFragment()) scrollToHeading(url.fragment());
    });
}

/// Markdown comes without margins.
void HelpBrowser::format() {
    const double line = fontMetrics().lineSpacing();
    const auto isCode = [](const QTextBlock& block) {
        return block.isValid() && block.blockFormat().nonBreakableLines();
    };
    QTextCursor cursor(document());
    cursor.beginEditBlock();  // one layout for all changes
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        cursor.setPosition(block.position());
        QTextBlockFormat format = block.blockFormat();
        const int heading = format.headingLevel();
        // A picture is a line of its own, whose height is its own, too.
        if (!isCode(block) && !block.text().contains(QChar::ObjectReplacementCharacter))
            format.setLineHeight(125, QTextBlockFormat::ProportionalHeight);
        if (heading > 0) {
            format.setTopMargin(heading == 1 ? 0 : line * 1.1);
            format.setBottomMargin(line * 0.4);
        } else if (isCode(block)) {
            format.setTopMargin(0);
            format.setBottomMargin(isCode(block.next()) ? 0 : line * 0.8);
            format.setBackground(palette().alternateBase());
        } else if (cursor.currentTable() == nullptr) {
            format.setTopMargin(0);
            format.setBottomMargin(line * (block.textList() != nullptr ? 0.25 : 0.6));
        }
        cursor.setBlockFormat(format);
    }
    for (QTextFrame* frame : document()->rootFrame()->childFrames()) {
        if (auto* table = qobject_cast<QTextTable*>(frame)) formatTable(*table, line);
    }
    fitPictures();
    cursor.endEditBlock();
    moveCursor(QTextCursor::Start);
}

/// A line below each row.
void HelpBrowser::formatTable(QTextTable& table, double line) const {
    QTextTableFormat format = table.format();
    format.setBorder(0);
    format.setBorderCollapse(true);
    format.setCellPadding(5);
    format.setTopMargin(0);
    format.setBottomMargin(line);
    table.setFormat(format);
    for (int row = 0; row < table.rows(); ++row) {
        for (int column = 0; column < table.columns(); ++column) {
            QTextTableCell cell = table.cellAt(row, column);
            QTextTableCellFormat rule = cell.format().toTableCellFormat();
            rule.setPadding(5);
            rule.setBottomBorder(1);
            rule.setBottomBorderStyle(QTextFrameFormat::BorderStyle_Solid);
            rule.setBottomBorderBrush(row == 0 ? palette().dark() : palette().midlight());
            cell.setFormat(rule);
        }
    }
}

/// Gives the document decoded pictures. Given the bytes of a file, it would decode them each time it needs
/// the size of the picture.
QVariant HelpBrowser::loadResource(int type, const QUrl& name) {
    if (type == QTextDocument::ImageResource) return picture(pictureAddress(name));
    return QTextBrowser::loadResource(type, name);
}

QImage HelpBrowser::picture(const QUrl& address) {
    const QString path = address.path();
    const auto known = m_pictures.constFind(path);
    return known != m_pictures.cend() ? *known : *m_pictures.insert(path, QImage(QLatin1Char(':') + path));
}

void HelpBrowser::fitPictures() {
    const double room = viewport()->width() - 2 * document()->documentMargin();
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        for (auto part = block.begin(); !part.atEnd(); ++part) {
            const QTextFragment fragment = part.fragment();
            if (!fragment.charFormat().isImageFormat()) continue;
            QTextImageFormat format = fragment.charFormat().toImageFormat();
            const QUrl address = pictureAddress(QUrl(format.name()));
            QImage image = picture(address);
            if (image.isNull()) continue;
            const double scale = std::min(1.0, room / image.width());
            format.setWidth(image.width() * scale);
            format.setHeight(image.height() * scale);
            // Scaled here, as documents scale without smoothing.
            if (scale < 1) {
                const double ratio = std::min(devicePixelRatioF(), 1 / scale);
                image = image.scaledToWidth(static_cast<int>(image.width() * scale * ratio),
                                            Qt::SmoothTransformation);
            }
            document()->addResource(QTextDocument::ImageResource, address, image);
            QTextCursor cursor(document());
            cursor.setPosition(fragment.position());
            cursor.setPosition(fragment.position() + fragment.length(), QTextCursor::KeepAnchor);
            cursor.setCharFormat(format);
            break;  // the fragments are others now; a picture has its paragraph for itself
        }
    }
}

void HelpBrowser::resizeEvent(QResizeEvent* event) {
    QTextBrowser::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) fitPictures();
}

void HelpBrowser::scrollToHeading(const QString& anchor) {
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        if (block.blockFormat().headingLevel() == 0 || headingAnchor(block.text()) != anchor) continue;
        QTextCursor cursor(block);
        setTextCursor(cursor);
        verticalScrollBar()->setValue(verticalScrollBar()->value() + cursorRect(cursor).top());
        return;
    }
}

HelpWindow::HelpWindow(QWidget* parent) : QWidget(parent, Qt::Window) {
    m_search = new QLineEdit;
    m_search->setObjectName(QStringLiteral("helpSearch"));
    m_search->setAccessibleName(tr("Search the help"));
    m_search->setPlaceholderText(tr("Search the help (Ctrl+F)"));
    m_search->setToolTip(tr("Lists the lines of all pages that have all these words"));
    m_search->setClearButtonEnabled(true);
    m_list = new QTreeWidget;
    m_list->setObjectName(QStringLiteral("helpList"));
    m_list->setAccessibleName(tr("Pages"));
    m_list->setHeaderHidden(true);
    m_list->setRootIsDecorated(false);
    m_list->setItemsExpandable(false);
    m_list->setIndentation(12);
    m_list->setTextElideMode(Qt::ElideRight);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_browser = new HelpBrowser;
    m_browser->setObjectName(QStringLiteral("helpPage"));

    auto* bar = new QToolBar;
    const auto add = [&](const QString& text, const QString& icon, const QKeySequence& key, auto receiver,
                         auto slot) {
        QAction* action = bar->addAction(lineIcon(icon), text, receiver, slot);
        action->setShortcut(key);
        action->setToolTip(tr("%1 (%2)").arg(text, key.toString(QKeySequence::NativeText)));
        addAction(action);
        return action;
    };
    m_back = add(tr("Back"), QStringLiteral("arrow-left"), Qt::ALT | Qt::Key_Left, m_browser,
                 &QTextBrowser::backward);
    m_forward = add(tr("Forward"), QStringLiteral("arrow-right"), Qt::ALT | Qt::Key_Right, m_browser,
                    &QTextBrowser::forward);
    add(tr("Index"), QStringLiteral("house"), Qt::ALT | Qt::Key_Home, this,
        [this] { open(QStringLiteral("index")); });
    m_back->setEnabled(false);
    m_forward->setEnabled(false);
    connect(m_browser, &QTextBrowser::backwardAvailable, m_back, &QAction::setEnabled);
    connect(m_browser, &QTextBrowser::forwardAvailable, m_forward, &QAction::setEnabled);
    auto* find = new QAction(this);
    find->setShortcut(QKeySequence::Find);
    connect(find, &QAction::triggered, m_search, [this] {
        m_search->setFocus();
        m_search->selectAll();
    });
    addAction(find);
    auto* leave = new QAction(this);
    leave->setShortcut(Qt::Key_Escape);
    connect(leave, &QAction::triggered, this, [this] {
        if (m_search->text().isEmpty()) return void(close());
        m_search->clear();
    });
    addAction(leave);

    auto* left = new QWidget;
    auto* leftLayout = new QVBoxLayout(left);
    leftLayout->setContentsMargins(6, 6, 0, 6);
    leftLayout->addWidget(bar);
    leftLayout->addWidget(m_search);
    leftLayout->addWidget(m_list, 1);
    auto* splitter = new QSplitter;
    splitter->addWidget(left);
    splitter->addWidget(m_browser);
    splitter->setStretchFactor(1, 1);
    const int letter = fontMetrics().averageCharWidth();
    splitter->setSizes({letter * (kListLetters + 6), letter * 110});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(splitter);
    resize(letter * 165, fontMetrics().height() * 46);

    connect(m_search, &QLineEdit::textChanged, this, &HelpWindow::list);
    connect(m_search, &QLineEdit::returnPressed, this, [this] {
        if (auto* group = m_list->topLevelItem(0); group != nullptr && group->childCount() > 0)
            m_list->setCurrentItem(group->child(0));
    });
    connect(m_list, &QTreeWidget::currentItemChanged, this, &HelpWindow::openItem);
    connect(m_browser, &QTextBrowser::historyChanged, this, &HelpWindow::showPage);
    list({});
}

void HelpWindow::open(const QString& page) {
    const auto& pages = helpPages();
    const QString name = page.section(QLatin1Char('#'), 0, 0), anchor = page.section(QLatin1Char('#'), 1);
    const bool exists = std::ranges::find(pages, name, &HelpPage::name) != pages.end();
    m_search->clear();
    m_browser->setSource(QUrl(helpAddress(exists ? name : QStringLiteral("index"))));
    show();
    setWindowState(windowState() & ~Qt::WindowMinimized);
    raise();
    activateWindow();
    m_browser->setFocus();
    // A window that was just opened is laid out first.
    if (!anchor.isEmpty())
        QTimer::singleShot(0, m_browser, [this, anchor] { m_browser->scrollToHeading(anchor); });
}

QString HelpWindow::page() const {
    return m_browser->source().path().section(QLatin1Char('/'), -1).section(QLatin1Char('.'), 0, 0);
}

void HelpWindow::list(const QString& words) {
    const QSignalBlocker blocker(m_list);
    m_list->clear();
    const auto add = [](QTreeWidgetItem* parent, const QString& text, const QString& page,
                        const QString& line) {
        auto* item = new QTreeWidgetItem(parent, {text});
        item->setData(0, kPageRole, page);
        item->setData(0, kLineRole, line);
        item->setToolTip(0, text);
        return item;
    };
    QTreeWidgetItem* group = nullptr;
    const auto title = [&](const QString& text) {
        group = new QTreeWidgetItem(m_list, {text});
        QFont bold = m_list->font();
        bold.setBold(true);
        group->setFont(0, bold);
        group->setFlags(Qt::ItemIsEnabled);
    };
    if (words.trimmed().isEmpty()) {
        for (const HelpPage& page : helpPages()) {
            if (group == nullptr || (!page.group.isEmpty() && group->text(0) != page.group))
                title(page.group.isEmpty() ? tr("Help") : page.group);
            add(group, page.title, page.name, {});
        }
    } else {
        const HelpPage* last = nullptr;
        const std::vector<HelpHit> hits = findInHelp(words);
        // A letter or two are in nearly every line.
        constexpr std::size_t kMostHits = 150;
        for (const HelpHit& hit : std::span(hits).first(std::min(hits.size(), kMostHits))) {
            if (hit.page != last) title(hit.page->title);
            last = hit.page;
            const QString first = words.split(QLatin1Char(' '), Qt::SkipEmptyParts).front();
            add(group, excerpt(hit.line, first, kListLetters), hit.page->name, hit.line)
                ->setToolTip(0, hit.line);
        }
        if (last == nullptr) title(tr("No page has all these words."));
        if (hits.size() > kMostHits) title(tr("and %L1 more lines").arg(hits.size() - kMostHits));
    }
    m_list->expandAll();
    showPage();
}

void HelpWindow::openItem(QTreeWidgetItem* item) {
    if (item == nullptr || item->data(0, kPageRole).isNull()) return;
    const QString page = item->data(0, kPageRole).toString();
    if (page != this->page()) m_browser->setSource(QUrl(helpAddress(page)));
    const QString line = item->data(0, kLineRole).toString();
    if (line.isEmpty()) return;
    for (QTextBlock block = m_browser->document()->begin(); block.isValid(); block = block.next()) {
        if (block.text().remove(QChar::ObjectReplacementCharacter).simplified() != line) continue;
        const QTextCursor cursor(block);
        m_browser->setTextCursor(cursor);
        // A third of the page above the line.
        QScrollBar* const bar = m_browser->verticalScrollBar();
        bar->setValue(bar->value() + m_browser->cursorRect(cursor).top() - m_browser->height() / 3);
        break;
    }
    markWords();
}

void HelpWindow::showPage() {
    for (const HelpPage& page : helpPages()) {
        if (page.name == this->page()) setWindowTitle(tr("%1 – Placewright help").arg(page.title));
    }
    markWords();
    if (!m_search->text().trimmed().isEmpty()) return;
    const QSignalBlocker blocker(m_list);
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        for (int j = 0; j < m_list->topLevelItem(i)->childCount(); ++j) {
            QTreeWidgetItem* item = m_list->topLevelItem(i)->child(j);
            if (item->data(0, kPageRole).toString() == page()) m_list->setCurrentItem(item);
        }
    }
}

/// Marks the words of the search in the page.
void HelpWindow::markWords() {
    QList<QTextEdit::ExtraSelection> marks;
    QTextCharFormat format;
    QColor colour = palette().highlight().color();
    colour.setAlpha(70);
    format.setBackground(colour);
    for (const QString& word : m_search->text().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        if (word.size() < 2) continue;
        for (QTextCursor found = m_browser->document()->find(word, 0); !found.isNull();
             found = m_browser->document()->find(word, found))
            marks.push_back({found, format});
    }
    m_browser->setExtraSelections(marks);
}

HelpKeys::HelpKeys(QWidget* window) : QObject(window), m_window(window) {
    qApp->installEventFilter(this);
}

void HelpKeys::open(const QString& page) {
    // A window can be used beside a modal dialog only if it belongs to the dialog, and goes with it.
    if (QWidget* modal = QApplication::activeModalWidget(); modal != nullptr) {
        auto* help = modal->findChild<HelpWindow*>();
        if (help == nullptr) help = new HelpWindow(modal);
        return help->open(page);
    }
    if (m_help == nullptr) m_help = new HelpWindow(m_window);
    m_help->open(page);
}

bool HelpKeys::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress || !watched->isWidgetType()) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() != Qt::Key_F1) return false;
    if (key->modifiers() == Qt::ShiftModifier) {
        open(QStringLiteral("index"));
    } else if (key->modifiers() == Qt::NoModifier) {
        open(helpPageOf(watched));
    } else {
        return false;
    }
    return true;
}

}  // namespace placewright
