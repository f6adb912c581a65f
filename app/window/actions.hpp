// SPDX-License-Identifier: MIT
// The actions of the main window as one table, which menus, shortcuts and the sheet of keys are made from.
#pragma once

#include <array>
#include <span>

#include <QAction>
#include <QCoreApplication>
#include <QKeySequence>
#include <QList>
#include <QMenu>
#include <QString>

namespace placewright {

class MainWindow;

enum class MenuId {
    file,
    recent,
    bundled,
    exports,
    edit,
    moveTo,
    constraints,
    pinTo,
    view,
    direction,
    colors,
    modules,
    panels,
    goTo,
    theme,
    measured,
    run,
    machine,
    learn,
    help,
    count
};

enum class ActionId {
    none,  ///< of a row that opens a menu
    open,
    openModel,  ///< the folder of a language model
    newWindow,
    save,
    saveAs,
    reload,
    reopenLast,  ///< whether the next start reopens the session of the window that was closed last
    startPage,
    exportPlacement,
    exportForTraining,
    exportReport,
    exportSearches,
    exportCurves,
    graphPicture,
    timelinePicture,
    curvePicture,
    learningPicture,
    cdfPicture,
    archivePicture,
    distributionPicture,
    measuredPicture,
    quit,
    undo,
    redo,
    find,
    selectKind,
    selectModule,  ///< all ops of the innermost modules of the selected ops
    copyNames,
    pinHere,  ///< pins the selected ops to their devices
    keepTogether,
    keepApart,
    removeConstraints,  ///< those of the selected ops
    constraints,        ///< lists all
    fit,
    directionAuto,
    directionRight,
    directionDown,
    colorsDevice,
    colorsKind,
    colorsTime,
    colorsMemory,
    colorsValues,  ///< those of the file that was opened last
    openValues,
    zoomToSelection,
    viewBack,
    viewForward,
    openModule,
    openEqualModules,
    closeModule,
    closeAllModules,
    openAllModules,
    path,        ///< draws the critical path over the timeline
    pathColour,  ///< shows the critical path in the graph
    measuredBelow,
    measuredOverlay,
    measuredOff,
    pinA,  ///< pins what is on screen as placement A
    unpinA,
    pair,          ///< shows A beside what is on screen
    wheelScrolls,  ///< the wheel moves the graph in place of zooming
    restoreLayout,
    resetSettings,
    themeSystem,
    themeLight,
    themeDark,
    copyPicture,  ///< of the panel in focus
    commands,     ///< the palette that finds all others
    optimize,
    beside,
    pause,
    followBest,  ///< lets the screen follow the best of all running searches
    algorithmOptions,
    saveSearch,
    resumeSearch,
    resumeRun,
    benchmark,
    measureBest,
    profile,    ///< measures the ops of the network for an archive
    calibrate,  ///< fits the costs of devices to measured times
    simulation,
    editMachine,
    whatIf,
    resetWhatIf,
    openMachine,
    saveMachine,
    proof,         ///< tightens the lower bound
    placesAtOnce,  ///< whether a network that is opened is placed at once
    compare,
    experiment,
    train,
    predict,
    predictTrained,
    help,  ///< the page of the panel in focus
    helpIndex,
    tutorial,
    keys,
    about,
    count
};

/// An entry of a menu: an action, or a menu inside it.
struct ActionInfo {
    /// When the action can be used.
    enum class Needs {
        nothing,
        network,  ///< an open network
        more      ///< disabled until the window enables it
    };

    ActionId id = ActionId::none;
    MenuId menu = MenuId::file;
    const char* text = "";
    QList<QKeySequence> keys{};
    const char* tip = "";   ///< without the keys
    const char* does = "";  ///< for the sheet of keys; only of actions with keys
    Needs needs = Needs::nothing;
    bool separated = false;              ///< a line above
    bool toggle = false;                 ///< `run` is called when it is switched on or off
    MenuId opens = MenuId::count;        ///< the menu that a row without an action opens
    void (*run)(MainWindow&) = nullptr;  ///< null for undo, redo and menus
};

/// A key or a gesture of a view, which is no action.
struct GestureInfo {
    const char* where;
    const char* input;
    const char* does;
};

/// The actions and menus of one main window.
class Actions {
    Q_DECLARE_TR_FUNCTIONS(Actions)
public:
    /// Fills the window's menu bar. Requires its document.
    explicit Actions(MainWindow& window);

    QAction* operator[](ActionId id) const { return m_actions[static_cast<std::size_t>(id)]; }
    QMenu* menu(MenuId id) const { return m_menus[static_cast<std::size_t>(id)]; }
    /// Enables the actions that need an open network, or disables them.
    void setNetworkOpen(bool open) const;

    /// All entries of the menus, in their order.
    static std::span<const ActionInfo> table();
    /// Keys and gestures of the views, as app/window/README.md lists them.
    static std::span<const GestureInfo> gestures();

private:
    /// Gives each action and menu its icon.
    void setIcons() const;
    QAction* make(const ActionInfo& info, MainWindow& window);

    std::array<QAction*, static_cast<std::size_t>(ActionId::count)> m_actions{};
    std::array<QMenu*, static_cast<std::size_t>(MenuId::count)> m_menus{};
};

/// "Open a file (Ctrl+O)": the tip with the first key, if there is one.
QString tipWithKeys(const QString& tip, const QList<QKeySequence>& keys);

}  // namespace placewright
