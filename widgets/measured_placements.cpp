// SPDX-License-Identifier: MIT
#include "widgets/measured_placements.hpp"

#include <algorithm>

#include <QCoreApplication>

#include "core/base/infinity.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

struct PlacementsText {
    Q_DECLARE_TR_FUNCTIONS(MeasuredPlacements)
};

}  // namespace

std::optional<std::size_t> MeasuredPlacements::fastest() const {
    std::optional<std::size_t> best;
    for (std::size_t index = 0; index < all.size(); ++index) {
        const Score& score = all[index].measured;
        if (score.fits && score.value_s > 0 && (!best || score.value_s < all[*best].measured.value_s))
            best = index;
    }
    return best;
}

std::size_t MeasuredPlacements::rank(std::size_t index) const {
    const double own_s = all[index].simulated.penalised_s;
    const auto better = [own_s](const Score& score) { return score.penalised_s < own_s; };
    return 1 + static_cast<std::size_t>(std::ranges::count_if(all, better, &Each::simulated) +
                                        std::ranges::count_if(awaited, better));
}

double stepError(const MeasuredPlacements::Each& each) {
    if (!(each.simulated.value_s > 0) || !(each.measured.value_s > 0)) return kInfinity;
    return each.measured.value_s / each.simulated.value_s - 1;
}

QString ordinalText(std::size_t number) {
    const std::size_t last = number % 10;
    const bool teen = number / 10 % 10 == 1;
    const char* ending = teen || last == 0 || last > 3 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : "rd";
    return QString::number(number) + QLatin1String(ending);
}

QString fastestText(const MeasuredPlacements& placements) {
    if (placements.all.empty()) return {};
    const std::size_t count = placements.all.size();
    const auto index = placements.fastest();
    if (!index)
        return count == 1 ? PlacementsText::tr("The measured placement takes more memory than a device has.")
                          : PlacementsText::tr(
                                "Each of the %1 measured placements takes more memory than a device has.")
                                .arg(count);
    const MeasuredPlacements::Each& fastest = placements.all[*index];
    const QString time = secondsText(fastest.measured.value_s);
    if (count == 1) return PlacementsText::tr("Measured %1.").arg(time);
    const std::size_t rank = placements.rank(*index);
    if (rank == 1)
        return PlacementsText::tr("Measured best of %1: %2, which is also the best in the simulation.")
            .arg(count)
            .arg(time);
    QString text = PlacementsText::tr("Measured best: %1, %2 in the simulation").arg(time, ordinalText(rank));
    // The simulated best may not be measured yet, or have no step time.
    const auto simulated = std::ranges::min_element(
        placements.all, {}, [](const MeasuredPlacements::Each& each) { return each.simulated.penalised_s; });
    if (placements.rank(static_cast<std::size_t>(simulated - placements.all.begin())) != 1)
        return text + QLatin1Char('.');
    const MeasuredPlacements::Each& other = *simulated;
    if (!other.measured.fits)
        return PlacementsText::tr("%1; the simulated best does not fit the memory.").arg(text);
    const double percent = (1 - fastest.measured.value_s / other.measured.value_s) * 100;
    text = PlacementsText::tr("%1; %2 % faster than the simulated best")
               .arg(text, QString::number(percent, 'f', percent < 10 ? 1 : 0));
    if (fastest.high_s >= other.low_s)
        text = PlacementsText::tr("%1, which is less than steps differ").arg(text);
    return text + QLatin1Char('.');
}

QString doubtsText(const MeasuredPlacements& placements) {
    const auto& all = placements.all;
    const auto isNoisy = [](const MeasuredPlacements::Each& each) { return !each.warning.isEmpty(); };
    QString text;
    if (const auto noisy = std::ranges::count_if(all, isNoisy); noisy > 0)
        text = PlacementsText::tr("The times of %1 of %2 placements may be wrong: %3.")
                   .arg(noisy)
                   .arg(all.size())
                   .arg(std::ranges::find_if(all, isNoisy)->warning);
    if (std::ranges::any_of(all, &MeasuredPlacements::Each::coresForAccelerators))
        text += (text.isEmpty() ? QString() : QStringLiteral(" ")) +
                PlacementsText::tr(
                    "Cores ran what is simulated on GPUs, so that measured and simulated times cannot be "
                    "compared.");
    return text;
}

}  // namespace placewright
