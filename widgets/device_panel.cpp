// SPDX-License-Identifier: MIT
#include "widgets/device_panel.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <QAbstractScrollArea>
#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTimer>
#include <QToolTip>

#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr int kPanelMargin = 8;
constexpr int kMeter = 5;  // height of a meter, pixels

QColor faded(QColor color, double alpha) {
    color.setAlphaF(static_cast<float>(alpha));
    return color;
}

/// The model as far as it fits: its maker, which all devices of most machines share, goes first, where
/// `least` is too narrow for it.
QString fittingModel(QString model, const QFontMetrics& metrics, int width, int least) {
    static const QRegularExpression maker(QStringLiteral("^(NVIDIA|AMD|Intel|Apple) (?=.)"));
    if (metrics.horizontalAdvance(model) > least) model.remove(maker);
    return metrics.elidedText(model, Qt::ElideRight, width);
}

/// Draws a bar for a share; a share above 1 is drawn as full.
void drawMeter(QPainter& painter, const QRect& area, double share, const QBrush& brush,
               const QPalette& palette) {
    painter.fillRect(area, faded(palette.color(QPalette::WindowText), 0.14));
    const int width = static_cast<int>(std::lround(area.width() * std::clamp(share, 0.0, 1.0)));
    // A positive share is at least one pixel wide.
    painter.fillRect(QRect(area.topLeft(), QSize(share > 0 ? std::max(width, 1) : 0, area.height())), brush);
}

}  // namespace

DevicePanel::DevicePanel(QWidget* parent) : OpView(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    // The panel does not shrink: the scroll area around it scrolls instead.
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    setAccessibleName(tr("Devices"));
}

void DevicePanel::setMachine(std::shared_ptr<const Machine> machine, std::vector<double> limits_bytes) {
    m_machine = std::move(machine);
    m_limits_bytes = std::move(limits_bytes);
    m_outcome.reset();
    m_contents.clear();
    m_why.reset();
    m_opsOf.clear();
    m_previews.clear();
    m_target.reset();
    m_hovered.reset();
    listChannels();
    setCurrent(0);
    update();
}

void DevicePanel::setOutcome(const Outcome& outcome, std::vector<double> active_s,
                             std::vector<double> held_bytes, std::vector<OpList> opsOf) {
    m_outcome = outcome;
    m_active_s = std::move(active_s);
    m_held_bytes = std::move(held_bytes);
    m_opsOf = std::move(opsOf);
    m_why.reset();
    listChannels();
    setCurrent(m_current);
    update();
}

void DevicePanel::setContents(std::vector<DeviceContents> contents) {
    if (m_contents == contents) return;
    const bool grows = m_contents.empty() != contents.empty();
    m_contents = std::move(contents);
    if (grows) updateGeometry();
    update();
}

void DevicePanel::setDropPreview(const DropPreviews& previews, std::optional<DeviceId> target) {
    if (m_previews == previews && m_target == target) return;
    m_previews = previews;
    m_target = target;
    update();
}

void DevicePanel::setDropsExpected(bool expected) {
    QScrollBar* scroll = scrollBar();
    const int seen = scroll != nullptr ? scroll->pageStep() : height();
    const bool compact = expected && channelsTop() > seen;
    if (compact == m_compact) return;
    if (compact && scroll != nullptr) m_scrolledBeforeDrag = scroll->value();
    m_compact = compact;
    updateGeometry();
    update();
    Q_EMIT dropTargetsMoved();
    if (compact || scroll == nullptr) return;
    // The area takes the larger size of the panel only after this.
    QTimer::singleShot(0, scroll, [scroll, before = m_scrolledBeforeDrag] { scroll->setValue(before); });
}

QScrollBar* DevicePanel::scrollBar() const {
    const QWidget* viewport = parentWidget();
    const auto* area =
        viewport != nullptr ? qobject_cast<QAbstractScrollArea*>(viewport->parentWidget()) : nullptr;
    return area != nullptr && area->viewport() == viewport ? area->verticalScrollBar() : nullptr;
}

void DevicePanel::scrollAtEdge(QPoint global) {
    QScrollBar* scroll = scrollBar();
    if (scroll == nullptr || !isVisible()) return;
    const QWidget* viewport = parentWidget();
    scroll->setValue(scroll->value() + edgeStep(viewport->mapFromGlobal(global), viewport->rect()));
}

// Layout

int DevicePanel::deviceRowHeight() const {
    if (m_compact) return QFontMetrics(font()).height() + 6;
    const int line = QFontMetrics(font()).height();
    return std::max(40, 2 * line + kMeter + 17) + (m_contents.empty() ? 0 : line + 4);
}

int DevicePanel::namesLeft() const {
    return kPanelMargin + QFontMetrics(font()).horizontalAdvance(QLatin1Char('0')) + 7;
}

int DevicePanel::channelRowHeight() const {
    return QFontMetrics(font()).height() + kMeter + 9;
}

int DevicePanel::channelsTop() const {
    return m_machine ? static_cast<int>(m_machine->devices().size()) * deviceRowHeight() : 0;
}

int DevicePanel::contentHeight() const {
    if (!m_machine) return 4 * QFontMetrics(font()).height();
    if (m_compact) return channelsTop();  // nothing can be dropped on a channel
    const std::size_t idle = m_channels.size() - m_busyChannels;
    const std::size_t rows = m_busyChannels + (idle > 0 ? 1 : 0) + (m_idleShown ? idle : 0);
    return channelsTop() + (rows > 0 ? static_cast<int>(rows + 1) * channelRowHeight() : 0) + 4;
}

/// Busy channels keep their order, so that rows do not swap while a search runs. Before the first outcome all
/// channels count as busy.
void DevicePanel::listChannels() {
    m_channels.resize(m_machine ? m_machine->channels().size() : 0);
    std::iota(m_channels.begin(), m_channels.end(), ChannelId{0});
    // Transfers are counted, not bytes: messages of zero bytes with given times also use a channel.
    const auto idle = std::stable_partition(m_channels.begin(), m_channels.end(), [this](ChannelId channel) {
        return !m_outcome || m_outcome->channel_transfers[channel] > 0;
    });
    m_busyChannels = static_cast<std::size_t>(idle - m_channels.begin());
    updateGeometry();
    update();
}

void DevicePanel::showIdle(bool show) {
    m_idleShown = show;
    updateGeometry();
    update();
}

QString DevicePanel::idleText() const {
    const std::size_t idle = m_channels.size() - m_busyChannels;
    return idle == 1 ? tr("1 idle channel") : tr("%1 idle channels").arg(idle);
}

QString DevicePanel::freeText(DeviceId device) const {
    const double free_bytes = m_limits_bytes[device] - m_held_bytes[device];
    return free_bytes < 0 ? tr("%1 over").arg(bytesText(-free_bytes))
                          : tr("%1 free").arg(bytesText(free_bytes));
}

/// Nothing of a network that is trained, or that only encodes, is a cache.
bool DevicePanel::hasCache() const {
    return std::ranges::any_of(m_contents, [](const DeviceContents& of) { return of.cache_bytes > 0; });
}

/// What is held beside the weights: a cache, or gradients, state of the optimizer and activations.
double DevicePanel::besideWeights(DeviceId device) const {
    const DeviceContents& contents = m_contents[device];
    return hasCache() ? contents.cache_bytes : std::max(m_held_bytes[device] - contents.weight_bytes, 0.0);
}

QString DevicePanel::contentsText(DeviceId device) const {
    return (hasCache() ? tr("weights %1 · cache %2") : tr("weights %1 · rest %2"))
        .arg(bytesText(m_contents[device].weight_bytes), bytesText(besideWeights(device)));
}

QRectF DevicePanel::channelRow(std::size_t row) const {
    return QRectF(0, channelsTop() + static_cast<int>(row + 1) * channelRowHeight(), width(),
                  channelRowHeight());
}

QRectF DevicePanel::channelRect(ChannelId channel) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(m_channels, channel) - m_channels.begin());
    if (at < m_busyChannels) return channelRow(at);
    return at < m_channels.size() && m_idleShown ? channelRow(at + 1) : QRectF();
}

QRectF DevicePanel::idleLineRect() const {
    return m_busyChannels < m_channels.size() ? channelRow(m_busyChannels) : QRectF();
}

QSize DevicePanel::sizeHint() const {
    return {QFontMetrics(font()).averageCharWidth() * 44, contentHeight()};
}

QSize DevicePanel::minimumSizeHint() const {
    return {QFontMetrics(font()).averageCharWidth() * 37, deviceRowHeight()};
}

QRectF DevicePanel::deviceRect(DeviceId device) const {
    if (!m_machine || device >= m_machine->devices().size()) return {};
    return QRectF(0, device * deviceRowHeight(), width(), deviceRowHeight());
}

std::optional<DeviceId> DevicePanel::deviceIn(QPoint position) const {
    if (!m_machine || !rect().contains(position) || position.y() >= channelsTop()) return std::nullopt;
    return static_cast<DeviceId>(position.y() / deviceRowHeight());
}

std::optional<ChannelId> DevicePanel::channelIn(QPoint position) const {
    if (!m_machine || !rect().contains(position)) return std::nullopt;
    const auto at = std::ranges::find_if(
        m_channels, [&](ChannelId channel) { return channelRect(channel).contains(position); });
    return at == m_channels.end() ? std::nullopt : std::optional(*at);
}

std::optional<DeviceId> DevicePanel::deviceAt(QPoint global) const {
    // A row that the scroll area hides is no drop target.
    const QPoint position = mapFromGlobal(global);
    return visibleRegion().contains(position) ? deviceIn(position) : std::nullopt;
}

OpList DevicePanel::opsOn(DeviceId device) const {
    return device < m_opsOf.size() ? m_opsOf[device] : OpList();
}

void DevicePanel::setCurrent(DeviceId device) {
    m_current = device;
    if (m_machine && device < m_machine->devices().size()) {
        setAccessibleDescription(tr("%1, %2").arg(QString::fromStdString(m_machine->device(device).name),
                                                  opsText(opsOn(device).size())));
    }
    update();
}

// Painting

void DevicePanel::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.fillRect(event->rect(), palette().color(QPalette::Base));
    if (!m_machine) {
        painter.setPen(mutedColor(palette()));
        painter.drawText(rect().adjusted(kPanelMargin, 4, -kPanelMargin, -4),
                         Qt::AlignCenter | Qt::TextWordWrap,
                         tr("Open a network and choose a machine to list its devices."));
        return;
    }
    const QRect dirty = event->rect();
    for (DeviceId device = 0; device < m_machine->devices().size(); ++device) {
        if (!deviceRect(device).toRect().intersects(dirty)) continue;
        if (m_compact) {
            paintLine(painter, device);
            continue;
        }
        paintDevice(painter, device);
        if (device < m_previews.size()) paintDropPreview(painter, device);
    }
    if (m_machine->channels().empty() || m_compact) return;
    const QRect heading(kPanelMargin, channelsTop(), width() - 2 * kPanelMargin, channelRowHeight());
    painter.setPen(mutedColor(palette()));
    painter.drawText(heading, Qt::AlignVCenter | Qt::AlignLeft, tr("Channels"));
    for (ChannelId channel = 0; channel < m_machine->channels().size(); ++channel)
        paintChannel(painter, channel);
    paintIdleLine(painter);
}

int DevicePanel::paintName(QPainter& painter, DeviceId device, int top, int right) const {
    const QFontMetrics metrics(font());
    const int line = metrics.height();
    if (device < 9) {
        painter.setPen(mutedColor(palette()));
        painter.drawText(QRect(kPanelMargin, top, metrics.horizontalAdvance(QLatin1Char('0')) + 2, line),
                         Qt::AlignVCenter, QString::number(device + 1));
    }
    const int side = line - 4;
    const QRect swatch(namesLeft(), top + (line - side) / 2, side, side);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(deviceEdge(*m_machine, device, palette().color(QPalette::Base)));
    painter.setBrush(deviceBrush(*m_machine, device));
    painter.drawRoundedRect(QRectF(swatch).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
    painter.setRenderHint(QPainter::Antialiasing, false);
    const int left = swatch.right() + 7;

    QFont bold = font();
    bold.setBold(true);
    const QFontMetrics boldMetrics(bold);
    const int room = std::max(0, right - left);
    const QString name =
        boldMetrics.elidedText(QString::fromStdString(m_machine->device(device).name), Qt::ElideMiddle, room);
    painter.setPen(palette().color(QPalette::Text));
    painter.setFont(bold);
    painter.drawText(QRect(left, top, room, line), Qt::AlignVCenter, name);
    painter.setFont(font());
    return left + boldMetrics.horizontalAdvance(name) + 8;
}

void DevicePanel::paintDevice(QPainter& painter, DeviceId device) const {
    const Device& of = m_machine->device(device);
    const QFontMetrics metrics(font());
    const int line = metrics.height();
    const QRect row = deviceRect(device).toRect();
    const QColor text = palette().color(QPalette::Text), muted = mutedColor(palette());
    painter.save();
    painter.setClipRect(row, Qt::IntersectClip);

    if (m_hovered == device && m_previews.empty()) painter.fillRect(row, faded(text, 0.06));
    painter.fillRect(QRect(row.left(), row.bottom(), row.width(), 1), faded(text, 0.12));

    // First line: number key, colour, name, model and number of ops.
    const int top = row.top() + 6;
    const int right = row.right() - kPanelMargin;

    const QString ops = opsText(opsOn(device).size());
    const int opsWidth = m_outcome ? metrics.horizontalAdvance(ops) : 0;
    if (m_outcome) {
        painter.setPen(opsOn(device).empty() ? muted : text);
        painter.drawText(QRect(right - opsWidth, top, opsWidth + 1, line), Qt::AlignVCenter, ops);
    }
    const int nameRight = right - opsWidth - 8;
    const int left = paintName(painter, device, top, nameRight);
    if (nameRight - left > 4 * metrics.averageCharWidth()) {
        painter.setPen(muted);
        painter.drawText(QRect(left, top, nameRight - left, line), Qt::AlignVCenter,
                         fittingModel(QString::fromStdString(of.model), metrics, nameRight - left,
                                      right - metrics.horizontalAdvance(opsText(8888)) - 8 - left));
    }

    // Second line: busy share and memory, each with a meter below its figure.
    const double busy =
        m_outcome && m_outcome->total_time_s > 0 ? m_active_s[device] / m_outcome->total_time_s : 0;
    const double limit_bytes = m_limits_bytes[device];
    const double held_bytes = m_outcome ? m_held_bytes[device] : 0;
    const bool over = held_bytes > limit_bytes;
    const int first = namesLeft();
    const int split = first + (right - first) * 2 / 5;
    const int second = top + line + 3;
    const auto meter = [&](const QRect& figures, const QString& figure, double share, const QBrush& brush,
                           const QColor& color) {
        painter.setPen(color);
        painter.drawText(figures, Qt::AlignVCenter | Qt::AlignLeft,
                         metrics.elidedText(figure, Qt::ElideRight, figures.width()));
        drawMeter(painter, QRect(figures.left(), figures.bottom() + 2, figures.width(), kMeter), share, brush,
                  palette());
    };
    const QColor color = deviceColor(*m_machine, device);
    meter(QRect(first, second, split - first - 10, line), tr("%1 busy").arg(percentText(busy)), busy, color,
          m_outcome ? text : muted);
    meter(QRect(split, second, right - split, line),
          m_outcome ? shareOfBytesText(held_bytes, limit_bytes) : bytesText(limit_bytes),
          held_bytes / limit_bytes, over ? QBrush(warningColor(palette())) : QBrush(color),
          over        ? warningColor(palette())
          : m_outcome ? text
                      : muted);

    // Third line: what is left, and what fills the rest.
    if (m_outcome && device < m_contents.size()) {
        const QRect third(first, second + line + kMeter + 6, right - first, line);
        painter.setPen(over ? warningColor(palette()) : text);
        painter.drawText(third, Qt::AlignVCenter | Qt::AlignLeft, freeText(device));
        const int room = third.width() - metrics.horizontalAdvance(freeText(device)) - 10;
        const QString weights = bytesText(m_contents[device].weight_bytes),
                      beside = bytesText(besideWeights(device));
        QString contents = contentsText(device);
        for (const QString& shorter :
             {(hasCache() ? tr("%1 + %2 cache") : tr("%1 + %2 rest")).arg(weights, beside),
              tr("%1 + %2").arg(weights, beside)}) {
            if (metrics.horizontalAdvance(contents) > room) contents = shorter;
        }
        painter.setPen(muted);
        painter.drawText(third, Qt::AlignVCenter | Qt::AlignRight,
                         metrics.elidedText(contents, Qt::ElideRight, room));
    }

    if (hasFocus() && m_current == device) {
        painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(row.adjusted(1, 1, -1, -2));
    }
    painter.restore();
}

/// Tints the row of a device as a target of a drop.
void DevicePanel::paintDropTarget(QPainter& painter, DeviceId device) const {
    const bool possible = m_previews[device].possible, isTarget = m_target == device;
    const QRect row = deviceRect(device).toRect();
    const QColor color = possible ? palette().color(QPalette::Highlight) : mutedColor(palette());
    painter.fillRect(row, faded(color, isTarget ? 0.35 : 0.12));
    if (!possible) painter.fillRect(row, QBrush(faded(color, isTarget ? 0.6 : 0.35), Qt::DiagCrossPattern));
    if (!isTarget) return;
    painter.setPen(QPen(color, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(row.adjusted(1, 1, -1, -2));
}

/// Draws the row of a device as one line, with what a drop would give once that is known.
void DevicePanel::paintLine(QPainter& painter, DeviceId device) const {
    const QRect row = deviceRect(device).toRect();
    const QColor text = palette().color(QPalette::Text);
    painter.save();
    painter.setClipRect(row, Qt::IntersectClip);
    painter.fillRect(QRect(row.left(), row.bottom(), row.width(), 1), faded(text, 0.12));
    const bool known = device < m_previews.size();
    if (known) paintDropTarget(painter, device);
    const int top = row.top() + 3, right = row.right() - kPanelMargin;
    // The names get a third, so that the figures of all devices begin at one place.
    const int figures = namesLeft() + (right - namesLeft()) / 3;
    paintName(painter, device, top, figures - 4);
    const QRect place(figures, top, right - figures, QFontMetrics(font()).height());
    QFont words_font = font();
    words_font.setBold(m_target == device);
    const QFontMetrics metrics(words_font);
    QString words = tr("…");
    bool overflows = false;
    if (known) {
        const DropPreview& preview = m_previews[device];
        overflows = preview.possible && !preview.fits;
        words = dropTargetText(preview, metrics, place.width());
    }
    painter.setFont(words_font);
    painter.setPen(overflows ? warningColor(palette()) : text);
    painter.drawText(place, Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(words, Qt::ElideRight, place.width()));
    painter.restore();
}

void DevicePanel::paintDropPreview(QPainter& painter, DeviceId device) const {
    const DropPreview& preview = m_previews[device];
    const bool isTarget = m_target == device;
    const QRect row = deviceRect(device).toRect();
    const QFontMetrics metrics(font());
    painter.save();
    painter.setClipRect(row, Qt::IntersectClip);
    // The preview replaces the meters; the name above stays readable.
    const QRect below(row.left(), row.top() + 6 + metrics.height(), row.width(),
                      row.height() - 7 - metrics.height());
    painter.fillRect(below, palette().color(QPalette::Base));
    paintDropTarget(painter, device);
    const bool overflows = preview.possible && !preview.fits;
    QFont font = this->font();
    font.setBold(isTarget);
    painter.setFont(font);
    const QRect place = below.adjusted(2 * kPanelMargin, 2, -kPanelMargin, -2);
    const QString words = dropTargetText(preview, QFontMetrics(font), place.width());
    const QRect behind(place.left() - 4, place.center().y() - metrics.height() / 2 - 1,
                       std::min(place.width(), QFontMetrics(font).horizontalAdvance(words)) + 8,
                       metrics.height() + 3);
    painter.fillRect(behind, faded(palette().color(QPalette::Base), 0.85));
    painter.setPen(overflows ? warningColor(palette()) : palette().color(QPalette::Text));
    painter.drawText(place, Qt::AlignVCenter | Qt::AlignLeft,
                     QFontMetrics(font).elidedText(words, Qt::ElideRight, place.width()));
    painter.restore();
}

void DevicePanel::paintChannel(QPainter& painter, ChannelId channel) const {
    const QFontMetrics metrics(font());
    const QRect row = channelRect(channel).toRect();
    if (row.isEmpty()) return;
    const double bytes = m_outcome ? m_outcome->channel_bytes[channel] : 0;
    const double busy = m_outcome && m_outcome->total_time_s > 0
                            ? m_outcome->channel_busy_s[channel] / m_outcome->total_time_s
                            : 0;
    const QColor muted = mutedColor(palette());
    const bool idle = !m_outcome || m_outcome->channel_transfers[channel] == 0;
    const QColor text = !idle ? palette().color(QPalette::Text) : muted;
    const QString figures = !m_outcome ? QString()
                            : !idle    ? tr("%1 · %2 busy").arg(bytesText(bytes), percentText(busy))
                                       : tr("idle");
    const int figuresWidth = metrics.horizontalAdvance(figures);
    const QRect line(kPanelMargin, row.top() + 2, row.width() - 2 * kPanelMargin, metrics.height());
    painter.setPen(text);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, figures);
    const int nameWidth = std::max(0, line.width() - figuresWidth - 8);
    painter.drawText(QRect(line.topLeft(), QSize(nameWidth, line.height())), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(QString::fromStdString(m_machine->channels()[channel].name),
                                        Qt::ElideMiddle, nameWidth));
    drawMeter(painter, QRect(line.left(), line.bottom() + 2, line.width(), 3), busy, muted, palette());
}

void DevicePanel::paintIdleLine(QPainter& painter) const {
    const QRectF row = idleLineRect();
    if (row.isNull()) return;
    const QColor muted = mutedColor(palette());
    const double x = kPanelMargin + 3, y = row.center().y();
    const QPolygonF closed{{{x - 2, y - 4}, {x + 3, y}, {x - 2, y + 4}}},
        open{{{x - 4, y - 2}, {x + 4, y - 2}, {x, y + 3}}};
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(muted);
    painter.drawPolygon(m_idleShown ? open : closed);
    painter.restore();
    painter.setPen(muted);
    painter.drawText(row.adjusted(kPanelMargin + 12, 0, -kPanelMargin, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     idleText());
}

// Events

QString DevicePanel::toolTipAt(QPoint position) const {
    if (const auto device = deviceIn(position)) {
        const Device& of = m_machine->device(*device);
        QStringList lines{
            QStringLiteral("<b>%1</b> %2")
                .arg(QString::fromStdString(of.name).toHtmlEscaped(),
                     QString::fromStdString(of.model).toHtmlEscaped()),
            tr("%1/s, memory %2 at %3/s")
                .arg(flopsText(of.peak_flops), bytesText(of.memory_bytes), bytesText(of.memory_bandwidth))};
        if (m_limits_bytes[*device] != of.memory_bytes)
            lines << tr("Memory limit: %1; the framework keeps the rest for itself (Run ▸ Simulation…)")
                         .arg(bytesText(m_limits_bytes[*device]));
        if (m_outcome) {
            lines << tr("Busy for %1 of %2")
                         .arg(secondsText(m_active_s[*device]), secondsText(m_outcome->total_time_s));
            if (of.streams > 1)
                lines << tr("%1 streams: busy for %2 in total")
                             .arg(of.streams)
                             .arg(secondsText(m_outcome->device_busy_s[*device]));
            if (m_held_bytes[*device] != m_outcome->peak_bytes[*device])
                lines << tr("Memory checked against the limit: %1; in the simulated step:")
                             .arg(bytesText(m_held_bytes[*device]));
            lines << tr("Peak memory %1, of which %2 during the whole step")
                         .arg(bytesText(m_outcome->peak_bytes[*device]),
                              bytesText(m_outcome->resident_bytes[*device]));
            if (*device < m_contents.size())
                lines << tr("%1: %2").arg(freeText(*device), contentsText(*device));
            if (m_why) lines << peakText(*m_why, *device, false);
        }
        lines << (*device < 9
                      ? tr("Drop ops here, or press %1 to move the selected ops here. Click to select "
                           "the ops of this device.")
                            .arg(*device + 1)
                      : tr("Drop ops here. Click to select the ops of this device."));
        return lines.join(QStringLiteral("<br>"));
    }
    if (const auto channel = channelIn(position)) {
        const Channel& of = m_machine->channels()[*channel];
        QStringList lines{QStringLiteral("<b>%1</b>").arg(QString::fromStdString(of.name).toHtmlEscaped()),
                          tr("%1/s, latency %2").arg(bytesText(of.bandwidth), secondsText(of.latency_s))};
        if (m_outcome) {
            lines << tr("%1 in %2")
                         .arg(bytesText(m_outcome->channel_bytes[*channel]),
                              transfersText(m_outcome->channel_transfers[*channel]))
                  << tr("Busy for %1 of %2")
                         .arg(secondsText(m_outcome->channel_busy_s[*channel]),
                              secondsText(m_outcome->total_time_s));
        }
        return lines.join(QStringLiteral("<br>"));
    }
    if (idleLineRect().contains(position)) {
        return m_idleShown ? tr("Click to hide the idle channels (Left)")
                           : tr("No data crosses these channels. Click to show them (Right).");
    }
    return {};
}

void DevicePanel::mousePressEvent(QMouseEvent* event) {
    setFocus(Qt::MouseFocusReason);
    if (event->button() == Qt::RightButton && !isDraggingOps()) {
        // The context menu that follows is about the ops of this device.
        const auto device = deviceIn(event->position().toPoint());
        if (!device) return;
        setCurrent(*device);
        Q_EMIT selectionEdited(opsOn(*device));
    }
    if (event->button() != Qt::LeftButton || isDraggingOps()) return;
    const QPoint position = event->position().toPoint();
    m_pressed.reset();
    m_idlePressed = idleLineRect().contains(position);
    if (const auto device = deviceIn(position)) {
        m_pressed = position;
        setCurrent(*device);
    }
}

void DevicePanel::mouseMoveEvent(QMouseEvent* event) {
    const QPoint position = event->position().toPoint();
    if (isDraggingOps()) {
        Q_EMIT opDragMoved(event->globalPosition().toPoint());
        return;
    }
    if (m_pressed && (position - *m_pressed).manhattanLength() >= QApplication::startDragDistance()) {
        const OpList ops = opsOn(*deviceIn(*m_pressed));
        const QPoint from = mapToGlobal(*m_pressed);
        m_pressed.reset();
        if (ops.empty()) return;
        QToolTip::hideText();
        Q_EMIT selectionEdited(ops);
        beginOpDrag(ops, from);
        Q_EMIT opDragMoved(event->globalPosition().toPoint());
        return;
    }
    const auto hovered = event->buttons() == Qt::NoButton ? deviceIn(position) : m_hovered;
    if (hovered != m_hovered) {
        m_hovered = hovered;
        update();
    }
}

void DevicePanel::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    if (isDraggingOps()) {
        dropOps(event->globalPosition().toPoint());
    } else if (m_pressed) {
        const auto device = deviceIn(*m_pressed);
        m_pressed.reset();
        if (device) Q_EMIT selectionEdited(opsOn(*device));
    } else if (std::exchange(m_idlePressed, false) && idleLineRect().contains(event->position())) {
        showIdle(!m_idleShown);
    }
}

void DevicePanel::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    if (key == Qt::Key_Escape && isDraggingOps()) return cancelOpDrag();
    if (!m_machine || (event->modifiers() & ~Qt::KeypadModifier)) return OpView::keyPressEvent(event);
    const auto last = static_cast<DeviceId>(m_machine->devices().size() - 1);
    if (key >= Qt::Key_1 && key <= Qt::Key_9) {
        Q_EMIT deviceKeyPressed(key - Qt::Key_0);
    } else if (key == Qt::Key_Up) {
        setCurrent(static_cast<DeviceId>(std::max(0, m_current - 1)));
    } else if (key == Qt::Key_Down) {
        setCurrent(std::min<DeviceId>(last, m_current + 1));
    } else if (key == Qt::Key_Home) {
        setCurrent(0);
    } else if (key == Qt::Key_End) {
        setCurrent(last);
    } else if (key == Qt::Key_Right || key == Qt::Key_Left) {
        showIdle(key == Qt::Key_Right);
    } else if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space) {
        Q_EMIT selectionEdited(opsOn(m_current));
    } else {
        OpView::keyPressEvent(event);
    }
}

void DevicePanel::leaveEvent(QEvent* event) {
    OpView::leaveEvent(event);
    m_hovered.reset();
    update();
}

void DevicePanel::hideEvent(QHideEvent* event) {
    OpView::hideEvent(event);
    m_pressed.reset();
    cancelOpDrag();
}

void DevicePanel::moveEvent(QMoveEvent* event) {
    OpView::moveEvent(event);
    Q_EMIT dropTargetsMoved();  // the scroll area scrolls by moving the panel
}

bool DevicePanel::event(QEvent* event) {
    switch (event->type()) {
        case QEvent::ToolTip: {
            const auto* help = static_cast<QHelpEvent*>(event);
            const QString text = isDraggingOps() ? QString() : toolTipAt(help->pos());
            if (text.isEmpty()) {
                QToolTip::hideText();
            } else {
                QToolTip::showText(help->globalPos(), text, this);
            }
            return true;
        }
        case QEvent::ShortcutOverride:
            if (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape && isDraggingOps()) {
                event->accept();
                return true;
            }
            break;
        case QEvent::FontChange:
        case QEvent::StyleChange:
            updateGeometry();
            update();
            break;
        case QEvent::FocusIn:
        case QEvent::FocusOut:
            update();
            break;
        default:
            break;
    }
    return OpView::event(event);
}

}  // namespace placewright
