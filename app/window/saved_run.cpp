// SPDX-License-Identifier: MIT
#include "app/window/saved_run.hpp"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <QCoreApplication>

#include "core/base/path.hpp"
#include "core/io/state/score_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/job/saved_search.hpp"

namespace placewright {
namespace {

struct SavedRunText {
    Q_DECLARE_TR_FUNCTIONS(SavedRun)
};

}  // namespace

std::size_t writeSearch(const QString& file, const Job& job, const SavedSearch& search,
                        const ScoreRecord& record) {
    const std::vector<RecordedScore> scores = record.scores();
    write_scores(file.toStdString(), score_conditions(job), search, scores);
    return scores.size();
}

RunRequest resumedRequest(const QString& file, const Job& job, const Budget& budget) {
    const Path path = file.toStdString();
    ScoreContent content;
    try {
        content = read_scores(path, score_conditions(job));
    } catch (const OtherConditions& error) {
        const QString name = QString::fromStdString(error.name).replace(QLatin1Char('_'), QLatin1Char(' '));
        const QString difference =
            error.name == "problem"
                ? SavedRunText::tr("the simulated problem differs")
                : SavedRunText::tr("%1 is %2 in the file, %3 here")
                      .arg(name, QString::fromStdString(error.theirs), QString::fromStdString(error.ours));
        throw std::runtime_error(SavedRunText::tr("%1 belongs to another search: %2. %3")
                                     .arg(file, difference, QString::fromStdString(remedy(error)))
                                     .toStdString());
    }
    if (!content.search)
        throw InputError(path.string(), "",
                         "does not name its search; resume it with placewright-cli optimize --scores "
                         "and its original arguments");
    check_search(*content.search, job, path);
    RunRequest request;
    request.algorithm = std::move(content.search->algorithm);
    request.options = std::move(content.search->options);
    request.seed = content.search->seed;
    request.budget = content.search->evaluations ? Budget{*content.search->evaluations} : budget;
    request.starts = std::move(content.search->starts);
    request.known = std::make_shared<const std::vector<RecordedScore>>(std::move(content.scores));
    return request;
}

}  // namespace placewright
