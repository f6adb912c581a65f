// SPDX-License-Identifier: MIT
#include "widgets/start_page.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <QAbstractButton>
#include <QGridLayout>
#include <QKeyEvent>
#include <QKeySequence>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "widgets/icons.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"

namespace placewright {
namespace {

constexpr int kWidestPage = 960;  // pixels; wider lines are hard to read
constexpr int kGap = 12;

/// A framed button that shows hover, press and focus, and that Enter presses too.
class EntryButton : public QAbstractButton {
public:
    EntryButton(const StartEntry& entry, QWidget* parent) : QAbstractButton(parent), m_entry(entry) {
        setText(entry.title);
        setAccessibleName(entry.title);
        setAccessibleDescription(entry.detail);
        setFocusPolicy(Qt::StrongFocus);
        setAttribute(Qt::WA_Hover);
        setEnabled(entry.available);
        if (entry.available) setCursor(Qt::PointingHandCursor);
        setToolTip(plainToolTip(entry.available ? entry.path
                                                : StartPage::tr("%1 no longer exists").arg(entry.path)));
    }

protected:
    virtual void paintEntry(QPainter& painter, const QRect& area) = 0;

    const StartEntry& entry() const { return m_entry; }
    QColor textColor() const {
        return palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::Text);
    }
    QColor detailColor() const { return isEnabled() ? mutedColor(palette()) : textColor(); }
    QFont titleFont() const {
        QFont bold = font();
        bold.setBold(true);
        return bold;
    }

    void keyPressEvent(QKeyEvent* event) override {
        if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
            click();
        } else {
            QAbstractButton::keyPressEvent(event);
        }
    }

    void paintEvent(QPaintEvent*) override {
        const QColor base = palette().color(QPalette::Base), highlight = palette().color(QPalette::Highlight);
        const float tint = isChecked() ? 0.18F : isDown() ? 0.25F : underMouse() && isEnabled() ? 0.12F : 0;
        const qreal frame = hasFocus() ? 2 : 1;
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(
            hasFocus() || isChecked() ? highlight : mixedColor(base, palette().color(QPalette::Text), 0.2F),
            frame));
        painter.setBrush(mixedColor(base, highlight, tint));
        painter.drawRoundedRect(QRectF(rect()).adjusted(frame / 2, frame / 2, -frame / 2, -frame / 2), 6, 6);
        paintEntry(painter, rect().adjusted(kGap, 8, -kGap, -8));
    }

private:
    StartEntry m_entry;
};

/// One line: title and folder of a recent file.
class RecentButton : public EntryButton {
public:
    using EntryButton::EntryButton;
    QSize sizeHint() const override { return {320, fontMetrics().height() + 16}; }

protected:
    void paintEntry(QPainter& painter, const QRect& area) override {
        const QFontMetrics titleMetrics(titleFont());
        const QString title = titleMetrics.elidedText(entry().title, Qt::ElideMiddle, area.width());
        const int used = titleMetrics.horizontalAdvance(title) + kGap;
        painter.setFont(titleFont());
        painter.setPen(textColor());
        painter.drawText(area, Qt::AlignVCenter | Qt::AlignLeft, title);
        painter.setFont(font());
        painter.setPen(detailColor());
        painter.drawText(area.adjusted(used, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                         fontMetrics().elidedText(entry().detail, Qt::ElideMiddle, area.width() - used));
    }
};

/// Picture, title and key figures of a network.
class NetworkCard : public EntryButton {
public:
    static constexpr int kNarrowest = 232;
    NetworkCard(const StartEntry& entry, QWidget* parent) : EntryButton(entry, parent) {
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    }
    QSize sizeHint() const override { return {kNarrowest, kPicture + 3 * fontMetrics().lineSpacing() + 24}; }
    QSize minimumSizeHint() const override { return {100, sizeHint().height()}; }

protected:
    void paintEntry(QPainter& painter, const QRect& area) override {
        painter.setOpacity(isEnabled() ? 1 : 0.4);
        paintStartPicture(
            painter, QRectF(area).adjusted(0, 0, 0, kPicture - area.height()), entry().picture,
            mixedColor(palette().color(QPalette::Base), palette().color(QPalette::Text), 0.35F));
        painter.setOpacity(1);

        const int line = fontMetrics().lineSpacing();
        QRect text = area.adjusted(0, kPicture + 4, 0, 0);
        painter.setFont(titleFont());
        painter.setPen(textColor());
        painter.drawText(text, Qt::AlignTop | Qt::AlignLeft,
                         QFontMetrics(titleFont()).elidedText(entry().title, Qt::ElideRight, text.width()));
        text.adjust(0, line + 2, 0, 0);
        painter.setFont(font());
        painter.setPen(detailColor());
        for (const QString& part : entry().detail.split(QLatin1Char('\n'))) {
            painter.drawText(text, Qt::AlignTop | Qt::AlignLeft,
                             fontMetrics().elidedText(part, Qt::ElideRight, text.width()));
            text.adjust(0, line, 0, 0);
        }
    }

private:
    static constexpr int kPicture = 64;
};

/// A machine; checked if networks are placed on it.
class MachineButton : public RecentButton {
public:
    MachineButton(const StartEntry& entry, QWidget* parent) : RecentButton(entry, parent) {
        setCheckable(true);
        setToolTip(StartPage::tr("Place networks on this machine"));
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    }
    QSize minimumSizeHint() const override { return {100, sizeHint().height()}; }
};

/// Draws one of the program's icons, in the colours of the theme.
class IconLabel : public QWidget {
public:
    IconLabel(const QString& name, QWidget* parent)
        : QWidget(parent), m_icon(lineIcon(name, IconTone::accent)) {
        setFixedSize(24, 24);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        m_icon.paint(&painter, rect());
    }

private:
    QIcon m_icon;
};

QLabel* makeLabel(const QString& text, double scale, bool bold, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    QFont font = label->font();
    font.setPointSizeF(font.pointSizeF() * scale);
    font.setBold(bold);
    label->setFont(font);
    label->setWordWrap(true);
    return label;
}

/// Deletes the buttons later, since the entries may change because one of them was clicked.
void deleteAll(std::vector<QAbstractButton*>& buttons) {
    for (QAbstractButton* button : buttons) {
        button->hide();
        button->deleteLater();
    }
    buttons.clear();
}

}  // namespace

StartPage::StartPage(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Start"));
    m_content = new QWidget;
    m_content->setMaximumWidth(kWidestPage);

    auto* title = makeLabel(tr("Placewright"), 2.2, true, m_content);
    auto* purpose = makeLabel(tr("Decides on which device each operation of a neural network runs."), 1.1,
                              false, m_content);

    auto* steps = new QHBoxLayout;
    steps->setSpacing(24);
    const std::array<std::pair<const char*, QString>, 3> hints{
        {{"folder-open", tr("1. Open a model: a network below or your own file.")},
         {"play", tr("2. Press Optimize and watch the placement improve.")},
         {"share", tr("3. Drag operations to other devices if you wish, then export the placement.")}}};
    for (const auto& [icon, text] : hints) {
        auto* step = new QHBoxLayout;
        step->setSpacing(8);
        step->addWidget(new IconLabel(QLatin1String(icon), m_content), 0, Qt::AlignTop);
        step->addWidget(makeLabel(text, 1, false, m_content), 1, Qt::AlignTop);
        steps->addLayout(step, 1);
    }
    m_machine = makeLabel({}, 1, false, m_content);
    m_machine->setObjectName("machineOfNetworks");

    const QString shortcut = QKeySequence(QKeySequence::Open).toString(QKeySequence::NativeText);
    auto* open = new QPushButton(
        shortcut.isEmpty() ? tr("Open model…") : tr("Open model…  (%1)").arg(shortcut), m_content);
    open->setObjectName("open");
    open->setToolTip(tr("Opens a network, a machine or a placement from a file"));
    open->setMinimumSize(open->sizeHint() + QSize(32, 8));
    open->setAutoDefault(true);
    connect(open, &QPushButton::clicked, this, &StartPage::openRequested);
    m_back = new QPushButton(m_content);
    m_back->setObjectName("back");
    m_back->setAutoDefault(true);
    m_back->hide();
    connect(m_back, &QPushButton::clicked, this, &StartPage::backRequested);
    auto* openRow = new QHBoxLayout;
    openRow->addWidget(open);
    openRow->addWidget(m_back);
    openRow->addSpacing(kGap);
    openRow->addWidget(
        makeLabel(tr("or drop a file or the folder of a language model in this window"), 1, false, m_content),
        1);

    m_useComputer = new QPushButton(tr("Use this computer"), m_content);
    m_useComputer->setObjectName("useComputer");
    m_useComputer->setToolTip(
        tr("Places networks on the devices of this computer; the list of machines in the "
           "toolbar has it, too"));
    m_useComputer->setMinimumSize(m_useComputer->sizeHint() + QSize(32, 8));
    m_useComputer->setAutoDefault(true);
    m_useComputer->hide();
    connect(m_useComputer, &QPushButton::clicked, this, &StartPage::computerChosen);
    m_computer = makeLabel({}, 1, false, m_content);
    m_computer->setObjectName("computer");
    m_computer->hide();
    auto* computerRow = new QHBoxLayout;
    computerRow->addWidget(m_useComputer);
    computerRow->addWidget(m_computer, 1);

    m_recent = new QVBoxLayout;
    m_recent->setSpacing(6);
    m_noRecent = makeLabel(tr("Files that you open appear here."), 1, false, m_content);
    m_noRecent->setObjectName("noRecent");
    m_noRecent->setForegroundRole(QPalette::PlaceholderText);
    m_recent->addWidget(m_noRecent);

    m_recentTitle = makeLabel(tr("Recent files"), 1.2, true, m_content);
    m_galleryTitle = makeLabel(tr("Example networks"), 1.2, true, m_content);
    m_gallery = new QVBoxLayout;
    m_gallery->setSpacing(8);
    m_machinesTitle = makeLabel(tr("Machines"), 1.2, true, m_content);
    m_machinesTitle->hide();

    auto* column = new QVBoxLayout(m_content);
    column->setContentsMargins(32, 32, 32, 32);
    column->setSpacing(8);
    column->addWidget(title);
    column->addWidget(purpose);
    column->addSpacing(8);
    column->addLayout(steps);
    column->addSpacing(8);
    column->addLayout(openRow);
    column->addLayout(computerRow);
    column->addWidget(m_machine);
    column->addSpacing(16);
    column->addWidget(m_recentTitle);
    column->addLayout(m_recent);
    column->addSpacing(16);
    column->addWidget(m_galleryTitle);
    column->addLayout(m_gallery);
    column->addSpacing(16);
    column->addWidget(m_machinesTitle);
    m_machines = addGrid(column);
    column->addStretch(1);

    // The scroll area gives its widget the whole width; the content is centred in it.
    auto* centred = new QWidget;
    auto* centring = new QHBoxLayout(centred);
    centring->setContentsMargins(0, 0, 0, 0);
    centring->addStretch(1);
    centring->addWidget(m_content, 1000);
    centring->addStretch(1);
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(centred);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(scroll);
    m_galleryTitle->hide();
    setFocusProxy(open);
}

QGridLayout* StartPage::addGrid(QVBoxLayout* to) {
    auto* grid = new QGridLayout;
    grid->setSpacing(kGap);
    to->addLayout(grid);
    return grid;
}

void StartPage::setRecent(const std::vector<StartEntry>& entries) {
    deleteAll(m_recentButtons);
    m_noRecent->setVisible(entries.empty());
    for (const StartEntry& entry : entries) {
        auto* button = new RecentButton(entry, m_content);
        connect(button, &QAbstractButton::clicked, this,
                [this, path = entry.path] { Q_EMIT fileChosen(path); });
        m_recent->addWidget(button);
        m_recentButtons.push_back(button);
    }
}

void StartPage::setGallery(const std::vector<StartEntry>& entries) {
    for (Section& section : m_sections) {
        deleteAll(section.cards);
        section.title->deleteLater();
        m_gallery->removeItem(section.grid);
        section.grid->deleteLater();
    }
    m_sections.clear();
    m_galleryTitle->setVisible(!entries.empty());
    QString last;
    for (const StartEntry& entry : entries) {
        if (m_sections.empty() || entry.section != last) {
            last = entry.section;
            auto* title = makeLabel(last, 1, false, m_content);
            title->setForegroundRole(QPalette::PlaceholderText);
            title->setVisible(!last.isEmpty());
            m_gallery->addWidget(title);
            m_sections.push_back({title, addGrid(m_gallery), {}});
        }
        auto* card = new NetworkCard(entry, m_content);
        connect(card, &QAbstractButton::clicked, this,
                [this, path = entry.path] { Q_EMIT fileChosen(path); });
        m_sections.back().cards.push_back(card);
    }
    m_columns = 0;
    arrangeGallery();
}

void StartPage::setMachines(const std::vector<StartEntry>& entries) {
    deleteAll(m_machineButtons);
    m_machinesTitle->setVisible(!entries.empty());
    for (const StartEntry& entry : entries) {
        auto* button = new MachineButton(entry, m_content);
        button->setObjectName(entry.path);
        connect(button, &QAbstractButton::clicked, this,
                [this, name = entry.path] { Q_EMIT machineChosen(name); });
        m_machineButtons.push_back(button);
    }
    m_columns = 0;
    arrangeGallery();
}

void StartPage::showMachine(const QString& title, const QString& name) {
    m_machine->setText(
        tr("Networks are placed on %1. Choose another machine below or in the toolbar.").arg(title));
    for (QAbstractButton* button : m_machineButtons) button->setChecked(button->objectName() == name);
}

void StartPage::offerBack(const QString& network) {
    m_back->setVisible(!network.isEmpty());
    constexpr int kLetters = 40;
    const QString name = m_back->fontMetrics().elidedText(
        network, Qt::ElideMiddle, kLetters * m_back->fontMetrics().averageCharWidth());
    m_back->setText(tr("Back to %1").arg(QString(name).replace(QLatin1Char('&'), QLatin1String("&&"))));
    m_back->setToolTip(plainToolTip(network));
    m_back->setMinimumSize(m_back->sizeHint() + QSize(32, 8));
}

void StartPage::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape && m_back->isVisible()) {
        Q_EMIT backRequested();
    } else {
        QWidget::keyPressEvent(event);
    }
}

void StartPage::offerComputer(const QString& summary, bool used) {
    m_computer->setText(used ? tr("Networks that you open are placed on this computer: %1.").arg(summary)
                             : tr("to place networks on it: %1").arg(summary));
    m_computer->setContentsMargins(used ? 0 : kGap, 0, 0, 0);
    m_computer->show();
    // The focus would else be on what is hidden.
    if (used && m_useComputer->hasFocus()) focusNextChild();
    m_useComputer->setVisible(!used);
}

void StartPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrangeGallery();
}

void StartPage::arrangeGallery() {
    const QMargins margins = m_content->layout()->contentsMargins();
    const int room = std::min(width(), kWidestPage) - margins.left() - margins.right();
    const int columns = std::max(1, (room + kGap) / (NetworkCard::kNarrowest + kGap));
    if (columns == m_columns) return;
    const auto arrange = [&](QGridLayout* grid, const std::vector<QAbstractButton*>& buttons) {
        for (QAbstractButton* button : buttons) grid->removeWidget(button);
        for (int column = 0; column < std::max(columns, m_columns); ++column)
            grid->setColumnStretch(column, column < columns ? 1 : 0);
        for (int i = 0; i < static_cast<int>(buttons.size()); ++i)
            grid->addWidget(buttons[static_cast<std::size_t>(i)], i / columns, i % columns);
    };
    for (const Section& section : m_sections) arrange(section.grid, section.cards);
    arrange(m_machines, m_machineButtons);
    m_columns = columns;
}

}  // namespace placewright
