// SPDX-License-Identifier: MIT
// The pages of the help, resources/help/*.md, and the search over them.
#pragma once

#include <vector>

#include <QCoreApplication>
#include <QString>
#include <QStringList>

class QObject;

namespace placewright {

/// A page of the help.
struct HelpPage {
    QString name;       ///< of the file without ".md"
    QString title;      ///< its first heading
    QString group;      ///< the heading of the index that it stands under; empty for the index itself
    QStringList lines;  ///< paragraphs, rows and headings as plain text
};

/// A line of a page that has all words of a search.
struct HelpHit {
    const HelpPage* page = nullptr;
    QString line;
};

/// All pages, the index first, then in the order in which the index links to them.
const std::vector<HelpPage>& helpPages();
/// The lines with all these words, in the order of the pages; a title counts as a line of its page. The index
/// has no hits: its lines only say what other pages hold.
std::vector<HelpHit> findInHelp(const QString& words);
/// About `most` letters of the line, with the word in their middle.
QString excerpt(const QString& line, const QString& word, qsizetype most);
/// The name of the page on the widget: on it, on the panel or window that holds it, or the index; with the
/// anchor of a heading where a part of a page is on it, "runs#curve".
QString helpPageOf(const QObject* widget);
/// "qrc:/help/index.md" of "index".
QString helpAddress(const QString& page);
/// The name that links use for a heading: "Step time" is "step-time".
QString headingAnchor(const QString& heading);

}  // namespace placewright
