// SPDX-License-Identifier: MIT
// The icons of the actions; those without one are variants of a neighbour.
#include "app/window/actions.hpp"
#include "widgets/icons.hpp"

namespace placewright {
namespace {

template <class Id>
struct IconOf {
    Id id;
    const char* icon;
};

constexpr IconOf<ActionId> kActionIcons[]{
    {ActionId::newWindow, "app-window"},
    {ActionId::open, "folder-open"},
    {ActionId::openModel, "folder"},
    {ActionId::reload, "refresh-cw"},
    {ActionId::save, "save"},
    {ActionId::startPage, "house"},
    {ActionId::exportPlacement, "file"},
    {ActionId::exportForTraining, "file-output"},
    {ActionId::exportReport, "file-output"},
    {ActionId::exportSearches, "file"},
    {ActionId::exportCurves, "file"},
    {ActionId::graphPicture, "image"},
    {ActionId::timelinePicture, "chart-gantt"},
    {ActionId::curvePicture, "chart-line"},
    {ActionId::learningPicture, "brain"},
    {ActionId::cdfPicture, "chart-spline"},
    {ActionId::archivePicture, "grid-3x3"},
    {ActionId::distributionPicture, "chart-column"},
    {ActionId::measuredPicture, "timer"},
    {ActionId::commands, "command"},
    {ActionId::quit, "log-out"},
    {ActionId::undo, "undo-2"},
    {ActionId::redo, "redo-2"},
    {ActionId::find, "search"},
    {ActionId::fit, "maximize"},
    {ActionId::directionRight, "move-right"},
    {ActionId::directionDown, "move-down"},
    {ActionId::zoomToSelection, "scan-search"},
    {ActionId::openModule, "package-open"},
    {ActionId::openEqualModules, "boxes"},
    {ActionId::closeModule, "package"},
    {ActionId::closeAllModules, "fold-vertical"},
    {ActionId::openAllModules, "unfold-vertical"},
    {ActionId::path, "route"},
    {ActionId::pathColour, "waypoints"},
    {ActionId::restoreLayout, "layout-dashboard"},
    {ActionId::resetSettings, "rotate-cw"},
    {ActionId::copyPicture, "image"},
    {ActionId::themeSystem, "monitor"},
    {ActionId::themeLight, "sun"},
    {ActionId::themeDark, "moon"},
    {ActionId::optimize, "play"},
    {ActionId::beside, "list-plus"},
    {ActionId::pause, "pause"},
    {ActionId::algorithmOptions, "sliders-horizontal"},
    {ActionId::saveSearch, "download"},
    {ActionId::resumeSearch, "upload"},
    {ActionId::resumeRun, "circle-play"},
    {ActionId::benchmark, "gauge"},
    {ActionId::measureBest, "trophy"},
    {ActionId::profile, "activity"},
    {ActionId::calibrate, "ruler"},
    {ActionId::simulation, "settings-2"},
    {ActionId::proof, "shield-check"},
    {ActionId::compare, "scale"},
    {ActionId::experiment, "flask-conical"},
    {ActionId::copyNames, "copy"},
    {ActionId::pinHere, "lock"},
    {ActionId::selectKind, "mouse-pointer-click"},
    {ActionId::selectModule, "package"},
    {ActionId::viewBack, "arrow-left"},
    {ActionId::viewForward, "arrow-right"},
    {ActionId::pinA, "pin"},
    {ActionId::unpinA, "pin-off"},
    {ActionId::pair, "columns-2"},
    {ActionId::followBest, "crosshair"},
    {ActionId::editMachine, "cpu"},
    {ActionId::openMachine, "folder-open"},
    {ActionId::resetWhatIf, "rotate-cw"},
    {ActionId::saveMachine, "hard-drive"},
    {ActionId::train, "graduation-cap"},
    {ActionId::predict, "wand-sparkles"},
    {ActionId::predictTrained, "sparkles"},
    {ActionId::help, "circle-question-mark"},
    {ActionId::helpIndex, "list"},
    {ActionId::tutorial, "graduation-cap"},
    {ActionId::keys, "keyboard"},
    {ActionId::about, "info"},
};

constexpr IconOf<MenuId> kMenuIcons[]{
    {MenuId::recent, "history"},       {MenuId::bundled, "boxes"},
    {MenuId::exports, "share"},        {MenuId::moveTo, "arrow-right-left"},
    {MenuId::goTo, "panels-top-left"}, {MenuId::theme, "sun-moon"},
    {MenuId::measured, "timer"},       {MenuId::modules, "package"},
    {MenuId::direction, "move-right"}, {MenuId::colors, "layers"},
    {MenuId::constraints, "lock"},     {MenuId::pinTo, "lock"},
};

}  // namespace

void Actions::setIcons() const {
    for (const auto& [id, icon] : kActionIcons) {
        QAction* action = (*this)[id];
        action->setIcon(lineIcon(QLatin1String(icon)));
        // Its check mark stands where the icon would.
        action->setIconVisibleInMenu(!action->isCheckable());
    }
    for (const auto& [id, icon] : kMenuIcons) menu(id)->setIcon(lineIcon(QLatin1String(icon)));
}

}  // namespace placewright
