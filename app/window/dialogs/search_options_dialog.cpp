// SPDX-License-Identifier: MIT
#include "app/window/dialogs/search_options_dialog.hpp"

#include <algorithm>

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QVBoxLayout>

#include "widgets/plain_text.hpp"

namespace placewright {
namespace {

/// Shows as many decimals as a number has: 0.5, 0.00002.
class NumberBox : public QDoubleSpinBox {
public:
    NumberBox() { setDecimals(15); }

    QString textFromValue(double value) const override {
        QString text = QDoubleSpinBox::textFromValue(value);
        const QString point = locale().decimalPoint();
        if (!text.contains(point)) return text;
        while (text.endsWith(locale().zeroDigit())) text.chop(1);
        if (text.endsWith(point)) text.chop(point.size());
        return text;
    }
};

}  // namespace

SearchOptionsDialog::SearchOptionsDialog(const AlgorithmInfo& algorithm, const OptionValues& values,
                                         QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("Options of %1").arg(QString::fromStdString(algorithm.title)));
    auto* layout = new QVBoxLayout(this);
    auto* help = new QLabel(QString::fromStdString(algorithm.summary + "\n" + algorithm.help));
    help->setWordWrap(true);
    layout->addWidget(help);

    if (!algorithm.presets.empty()) {
        m_presets.push_back(
            {tr("Defaults").toStdString(), tr("Defaults that suit most networks").toStdString(), {}});
        m_presets.insert(m_presets.end(), algorithm.presets.begin(), algorithm.presets.end());
        m_preset = new QComboBox;
        m_preset->setObjectName(QStringLiteral("preset"));
        m_preset->setAccessibleName(tr("Preset"));
        for (const OptionPreset& preset : m_presets) {
            QString name = QString::fromStdString(preset.name);
            name[0] = name[0].toUpper();
            m_preset->addItem(name);
            m_preset->setItemData(m_preset->count() - 1, QString::fromStdString(preset.help),
                                  Qt::ToolTipRole);
        }
        m_preset->addItem(tr("Custom"));
        m_preset->setItemData(m_preset->count() - 1, tr("Values that differ from all presets"),
                              Qt::ToolTipRole);
        auto* row = new QHBoxLayout;
        auto* label = new QLabel(tr("&Preset"));
        label->setBuddy(m_preset);
        row->addWidget(label);
        row->addWidget(m_preset, 1);
        layout->addLayout(row);
        connect(m_preset, &QComboBox::activated, this, [this](int index) {
            if (index < static_cast<int>(m_presets.size()))
                apply(m_presets[static_cast<std::size_t>(index)].values);
            showPreset();
        });
    }

    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    auto* page = new QWidget;
    auto* form = new QFormLayout(page);
    for (const OptionInfo& info : algorithm.options) {
        m_fields.push_back(makeField(info, form));
    }
    apply(values);
    if (m_fields.empty()) form->addRow(new QLabel(tr("This algorithm has no options.")));
    area->setWidget(page);
    layout->addWidget(area, 1);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel |
                                         QDialogButtonBox::RestoreDefaults);
    buttons->button(QDialogButtonBox::RestoreDefaults)->setObjectName(QStringLiteral("resetOptions"));
    buttons->button(QDialogButtonBox::RestoreDefaults)->setText(tr("&Reset to defaults"));
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons->button(QDialogButtonBox::RestoreDefaults), &QPushButton::clicked, this,
            [this] { apply({}); });
    resize(480, std::min(600, 160 + 36 * static_cast<int>(m_fields.size())));
}

SearchOptionsDialog::Field SearchOptionsDialog::makeField(const OptionInfo& info, QFormLayout* form) {
    Field field{info, {}, {}};
    QWidget* editor = nullptr;
    if (std::holds_alternative<bool>(info.default_value)) {
        auto* box = new QCheckBox;
        field.read = [box] { return OptionValue(box->isChecked()); };
        connect(box, &QCheckBox::toggled, this, &SearchOptionsDialog::showPreset);
        field.write = [box](const OptionValue& value) { box->setChecked(std::get<bool>(value)); };
        editor = box;
    } else if (std::holds_alternative<std::int64_t>(info.default_value)) {
        auto* box = new QSpinBox;
        box->setRange(static_cast<int>(std::max(info.min.value_or(-1e9), -2e9)),
                      static_cast<int>(std::min(info.max.value_or(1e9), 2e9)));
        field.read = [box] { return OptionValue(std::int64_t{box->value()}); };
        connect(box, &QSpinBox::valueChanged, this, &SearchOptionsDialog::showPreset);
        field.write = [box](const OptionValue& value) {
            box->setValue(static_cast<int>(std::get<std::int64_t>(value)));
        };
        editor = box;
    } else if (std::holds_alternative<double>(info.default_value)) {
        auto* box = new NumberBox;
        box->setRange(info.min.value_or(-1e9), info.max.value_or(1e9));
        box->setSingleStep(box->maximum() <= 1 ? 0.05 : 1);
        field.read = [box] { return OptionValue(box->value()); };
        connect(box, &QDoubleSpinBox::valueChanged, this, &SearchOptionsDialog::showPreset);
        field.write = [box](const OptionValue& value) { box->setValue(std::get<double>(value)); };
        editor = box;
    } else {
        auto* box = new QComboBox;
        for (std::size_t i = 0; i < info.choices.size(); ++i)
            box->addItem(QString::fromStdString(info.choice_titles[i]),
                         QString::fromStdString(info.choices[i]));
        field.read = [box] { return OptionValue(box->currentData().toString().toStdString()); };
        connect(box, &QComboBox::currentTextChanged, this, &SearchOptionsDialog::showPreset);
        field.write = [box](const OptionValue& value) {
            box->setCurrentIndex(box->findData(QString::fromStdString(std::get<std::string>(value))));
        };
        editor = box;
    }
    editor->setObjectName(QString::fromStdString(info.name));
    editor->setToolTip(plainToolTip(
        QStringLiteral("%1\n%2").arg(QString::fromStdString(info.help), QString::fromStdString(info.name))));
    const QString label = QString::fromStdString(info.title);
    auto* title = new QLabel(label);
    title->setBuddy(editor);
    title->setToolTip(editor->toolTip());
    editor->setAccessibleName(label);
    form->addRow(title, editor);
    return field;
}

void SearchOptionsDialog::apply(const OptionValues& values) {
    for (const Field& field : m_fields) {
        const auto given = values.find(field.info.name);
        field.write(given != values.end() ? given->second : field.info.default_value);
    }
    showPreset();
}

void SearchOptionsDialog::showPreset() {
    if (m_preset == nullptr) return;
    const OptionValues now = values();
    const auto found = std::ranges::find_if(m_presets, [&](const OptionPreset& preset) {
        return std::ranges::all_of(m_fields, [&](const Field& field) {
            const auto value_in = [&](const OptionValues& from) {
                const auto given = from.find(field.info.name);
                return given != from.end() ? given->second : field.info.default_value;
            };
            return value_in(preset.values) == value_in(now);
        });
    });
    m_preset->setCurrentIndex(static_cast<int>(found - m_presets.begin()));
}

OptionValues SearchOptionsDialog::values() const {
    OptionValues values;
    for (const Field& field : m_fields) {
        OptionValue value = field.read();
        if (value != field.info.default_value) values[field.info.name] = std::move(value);
    }
    return values;
}

}  // namespace placewright
