// SPDX-License-Identifier: MIT
// What the window remembers from one session to the next, as typed settings in place of names of keys.
#pragma once

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <QStringList>

class QWidget;

namespace placewright {

/// A value that is stored under a key. The keys are those of earlier versions and must not change.
template <class Value>
struct Setting {
    const char* key;
    Value fallback{};  ///< value of a setting that was never stored

    Value get() const {
        return QSettings().value(QLatin1String(key), QVariant::fromValue(fallback)).template value<Value>();
    }
    void set(const Value& value) const {
        QSettings().setValue(QLatin1String(key), QVariant::fromValue(value));
    }
    bool isStored() const { return QSettings().contains(QLatin1String(key)); }
};

namespace settings {

// Folders that file dialogs begin in.
inline const Setting<QString> openFolder{"folder"};
inline const Setting<QString> exportFolder{"exportFolder"};
inline const Setting<QString> policyFolder{"policyFolder"};
inline const Setting<QString> experimentFolder{"experimentFolder"};

inline const Setting<QStringList> recentFiles{"recentFiles"};  ///< the latest first
inline const Setting<QString> exampleInputs{"exampleInputs"};  ///< shapes of input tensors, as last entered

inline const Setting<QByteArray> geometry{"geometry"};  ///< place and size of the main window
inline const Setting<QByteArray> layout{"layout"};      ///< arrangement of its panels and toolbars
inline const Setting<QString> algorithm{"algorithm", QStringLiteral("auto")};
inline const Setting<QString> budget{"budget", QStringLiteral("30 s")};  ///< budgetText()
inline const Setting<QString> machine{"machine"};                        ///< file or name of a shipped one
inline const Setting<QStringList> curveChecks{"curveChecks"};            ///< what is on in the plot of curves
inline const Setting<int> curveAgainst{"curveAgainst", 0};               ///< its horizontal axis
inline const Setting<int> comparedEvaluations{"comparedEvaluations", 20'000};  ///< of each search
/// Where the timeline draws measured runs: the number of a MeasuredLayout.
inline const Setting<int> measuredLayout{"measuredLayout", 0};
inline const Setting<int> graphDirection{"graphDirection", 0};       ///< the number of a GraphDirection
inline const Setting<int> graphColors{"graphColors", 0};             ///< the number of a ColorBy
inline const Setting<bool> wheelScrolls{"wheelScrolls", false};      ///< moves the graph, does not zoom
inline const Setting<int> theme{"theme", 0};                         ///< the number of a Theme
inline const Setting<QStringList> recentCommands{"recentCommands"};  ///< their ids, the latest first
inline const Setting<int> benchmarkSteps{"benchmarkSteps", 10};
inline const Setting<int> measuredBest{"measuredBest", 10};  ///< number of placements
/// Whether transfers of a benchmark or profile take at least as long as simulated.
inline const Setting<bool> throttles{"throttleTransfers", false};
inline const Setting<QString> profileFile{"profileFile"};  ///< archive of measured times, as last chosen
inline const Setting<bool> reopenLast{"reopenLastSession", false};
inline const Setting<bool> tightenBound{"tightenBound", true};
inline const Setting<bool> placesAtOnce{"placesAtOnce", true};  ///< networks that are opened

/// Forgets all but recent files, folders and the place of the window.
void reset();

}  // namespace settings

/// A file of this name beside the settings.
QString fileBesideSettings(const QString& name);

/// Stores the folder of a file that was chosen.
void rememberFolderOf(const QString& file, const Setting<QString>& folder);

/// The folder that every export begins in: that of the last export, else that of `opened` (a file; may be
/// empty or a name), else the one that files were opened from, else the user's documents. Never one of the
/// program's own.
QString exportFolderFor(const QString& opened = {});

/// Asks for a file to write, beginning in `start` (empty: the current folder), and stores its folder. A name
/// without a suffix gets `suffix` (".json"). Returns an empty text if the user cancels.
QString askSaveFile(QWidget* parent, const QString& title, const QString& start, const QString& suggestion,
                    const QString& filter, const QString& suffix, const Setting<QString>& folder);

}  // namespace placewright
