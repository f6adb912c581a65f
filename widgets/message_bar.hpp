// SPDX-License-Identifier: MIT
#pragma once

#include <QTimer>
#include <QWidget>

class QBoxLayout;
class QLabel;
class QToolButton;

namespace placewright {

/// Shows one message above the window's content: what happened, where and what to do. An error stays until it
/// is closed or replaced, information for ten seconds.
class MessageBar : public QWidget {
    Q_OBJECT
public:
    enum class Kind { information, error };
    explicit MessageBar(QWidget* parent = nullptr);
    /// A long text shows its beginning; "Details" shows the rest.
    void showMessage(Kind kind, const QString& text);
    /// Hides the message if it is information; an error stays.
    void dropInformation();
    /// The whole text.
    QString text() const { return m_message; }

protected:
    bool event(QEvent*) override;
    void changeEvent(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void showText();
    void showIcon();

    Kind m_kind = Kind::information;
    QString m_message;
    QBoxLayout* m_layout = nullptr;
    QLabel* m_icon = nullptr;
    QLabel* m_text = nullptr;
    QToolButton* m_details = nullptr;
    QTimer m_fade;
};

}  // namespace placewright
