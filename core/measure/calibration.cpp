// SPDX-License-Identifier: MIT
#include "core/measure/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include <boost/math/tools/minima.hpp>

#include "core/base/fingerprint.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/cost/device_time.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

constexpr std::size_t kClasses = static_cast<std::size_t>(WorkClass::update) + 1;
/// Logarithm below which an error counts by its square, above by its size.
constexpr double kOutlier = 0.3;
/// Penalty for a parameter one width away from its prior, in units of the sum that is minimised.
constexpr double kPenalty = 1.5e-4;
constexpr double kLeastError = 0.02;  ///< of error_*: clocks and temperatures differ from day to day
/// Held-out signatures, and their share of the time, that say how far times of a class are off.
constexpr std::size_t kLeastHeldOut = 3;
constexpr double kLeastHeldOutShare = 0.05;
constexpr double kTiny = 1e-12;

/// How far a parameter may be from its start value: standard deviation of its logarithm. The shares as in
/// packaging/fit_devices.py, but wider: there, many devices share a value.
double width_of(std::string_view name) {
    if (name.starts_with("half_") || name.ends_with("launch_s") || name == "cache_speed") return 1;
    if (name == "peak_flops" || name == "memory_bandwidth") return 5;
    return 0.5;
}

/// A parameter that is fitted: its value is start * exp(x).
struct Parameter {
    std::string name;
    double* value = nullptr;
    double start = 0;
    double least = 0, most = 0;  ///< of x
    double width = 1;
    double x = 0;

    void set(double to) {
        x = to;
        *value = start * std::exp(to);
    }
    double penalty() const { return kPenalty * (x / width) * (x / width); }
};

/// Samples that are alike, as ops of repeated blocks are.
struct Case {
    const CalibrationSample* sample = nullptr;
    double weight = 0;  ///< number of ops
    double share = 0;   ///< of the sum that is minimised
};

class Fit {
public:
    Fit(const Device& device, std::span<const CalibrationSample> samples, const CalibrationOptions& options)
        : samples_(samples), given_(device), has_own_figures_(!device.known || !device.known->in_catalogue) {
        start_ = device.known ? *device.known->efficiencies : options.start;
        if (device.launch_overhead_s > 0) start_.launch_s = device.launch_overhead_s;
        if (start_.launch_s == 0) start_.launch_s = Efficiencies().launch_s;
        *shares_ = start_;
        device_ = calibrated(device, start_);
        // A model of its own, whose shares change while it is in use.
        auto model = std::make_shared<DeviceModel>(*device_.known);
        model->efficiencies = shares_;
        device_.known = std::move(model);
        add_parameters();
        split(options.held_out);
    }

    /// Whether it was done.
    bool run(const std::stop_token& stop, const CalibrationProgress& progress) {
        constexpr std::size_t kRounds = 60;
        constexpr double kGain = 1e-6;
        double best = loss();
        for (std::size_t round = 1; round <= kRounds; ++round) {
            const double before = best;
            std::vector<double> from;
            for (const Parameter& parameter : parameters_) from.push_back(parameter.x);
            for (Parameter& parameter : parameters_) {
                if (stop.stop_requested()) return false;
                best = move(parameter, round, best);
            }
            best = move_all(from, best);
            if (progress) progress(round, best);
            if (before - best < kGain * before) break;
        }
        settle();
        return true;
    }

    Calibration result() const {
        Calibration done;
        Efficiencies fitted = *shares_;
        std::vector<double> predicted_s;
        for (const CalibrationSample& sample : samples_) predicted_s.push_back(time_s(sample));
        for (std::size_t i = 0; i < samples_.size(); ++i)
            done.residuals.push_back({held_out_[i], device_time_s(samples_[i].work, device_)});
        report(done, predicted_s);
        std::vector<std::string> measured_errors = fit_errors(fitted, predicted_s);

        const auto tell = [&](const std::string& name, double before, double after, bool measured) {
            if (measured) {
                done.parameters.push_back({name, before, after});
            } else {
                done.not_measured.push_back(name);
            }
        };
        for (const Parameter& parameter : parameters_) {
            if (parameter.name == "peak_flops" || parameter.name == "memory_bandwidth")
                tell(parameter.name, parameter.start, *parameter.value, is_measured(parameter));
        }
        for (const EfficiencyField& field : efficiency_fields()) {
            const std::string name(field.name);
            const auto parameter = std::ranges::find(parameters_, name, &Parameter::name);
            const bool measured = parameter != parameters_.end()
                                      ? is_measured(*parameter)
                                      : std::ranges::find(measured_errors, name) != measured_errors.end();
            tell(name, start_.*(field.value), fitted.*(field.value), measured);
        }
        Device device = given_;
        device.peak_flops = device_.peak_flops;
        device.memory_bandwidth = device_.memory_bandwidth;
        // This one counts by the FLOP/s of the model, which calibrated() sets to those that were fitted.
        if (has_own_figures_)
            fitted.half_outputs_per_tflops *= device_.known->peak_flops() / device.peak_flops;
        done.device = calibrated(std::move(device), fitted);
        return done;
    }

private:
    void add(std::string name, double* value, double least, double most) {
        Parameter parameter;
        parameter.name = std::move(name);
        parameter.value = value;
        parameter.start = *value;
        parameter.least = std::log(std::max(least, *value * 1e-3) / *value);
        parameter.most = std::log(std::min(most, *value * 1e3) / *value);
        parameter.width = width_of(parameter.name);
        parameters_.push_back(std::move(parameter));
    }

    void add_parameters() {
        if (has_own_figures_) {
            constexpr double kMost = 1e30;
            add("peak_flops", &device_.peak_flops, 1, kMost);
            add("memory_bandwidth", &device_.memory_bandwidth, 1, kMost);
        }
        add("launch_s", &device_.launch_overhead_s, 0, 1);
        for (const EfficiencyField& field : efficiency_fields()) {
            double& value = (*shares_).*(field.value);
            // Energies of 0 set no limit, and no logarithm begins at 0.
            if (field.name.starts_with("error_") || field.name == "launch_s" || value == 0) continue;
            add(std::string(field.name), &value, field.least, field.most);
        }
    }

    void split(double share) {
        const double limit = share * std::ldexp(1.0, 64);
        std::map<std::tuple<std::string_view, WorkClass, double, double, double, double>, std::size_t> known;
        std::array<double, kClasses> class_s{};
        for (const CalibrationSample& sample : samples_) {
            Fingerprint hash;
            hash.add(sample.signature);
            // The hash of the text, as a number below 2^64.
            const double number = static_cast<double>(std::stoull(hash.digits(), nullptr, 16));
            held_out_.push_back(number < limit);
            if (held_out_.back() || !counts(sample)) continue;
            const auto [at, is_new] = known.emplace(
                std::tuple(std::string_view(sample.signature), sample.work.work_class, sample.measured_s,
                           sample.before_s, sample.work.bytes, sample.work.products[0].depth),
                cases_.size());
            if (is_new) cases_.push_back({&sample});
            cases_[at->second].weight += sample.weight;
            class_s[static_cast<std::size_t>(sample.work.work_class)] += sample.weight * sample.measured_s;
        }
        if (cases_.empty()) throw std::invalid_argument("no measured op is left to fit to");
        double roots = 0;
        for (const double seconds : class_s) roots += std::sqrt(seconds);
        for (Case& each : cases_) {
            const double of_class_s = class_s[static_cast<std::size_t>(each.sample->work.work_class)];
            each.share = each.weight * each.sample->measured_s / std::sqrt(of_class_s) / roots;
        }
    }

    static bool counts(const CalibrationSample& sample) {
        return sample.work.work_class != WorkClass::none && sample.measured_s > 0;
    }

    double time_s(const CalibrationSample& sample) const {
        return std::max(device_time_s(sample.work, device_), kTiny);
    }

    static double deviation(double ratio) { return std::hypot(std::log(ratio), kOutlier) - kOutlier; }

    double loss() const {
        double sum = 0;
        std::array<double, kClasses> predicted_s{}, measured_s{}, shares{};
        for (const Case& each : cases_) {
            const auto index = static_cast<std::size_t>(each.sample->work.work_class);
            const double seconds = time_s(*each.sample);
            sum += 0.5 * each.share * deviation(seconds / each.sample->measured_s);
            predicted_s[index] += each.weight * seconds;
            measured_s[index] += each.weight * each.sample->measured_s;
            shares[index] += each.share;
        }
        for (std::size_t index = 0; index < kClasses; ++index) {
            if (shares[index] > 0)
                sum += 0.5 * shares[index] * deviation(predicted_s[index] / measured_s[index]);
        }
        for (const Parameter& parameter : parameters_) sum += parameter.penalty();
        return sum;
    }

    static double least_of(const auto& function, double from, double to) {
        constexpr int kBits = 10;
        std::uintmax_t evaluations = 24;
        return boost::math::tools::brent_find_minima(function, from, to, kBits, evaluations).first;
    }

    double move(Parameter& parameter, std::size_t round, double best) {
        // Large moves first.
        const double reach = std::max(0.1, 2.0 / static_cast<double>(round));
        const double here = parameter.x;
        const auto at = [&](double x) {
            parameter.set(x);
            return loss();
        };
        const double found =
            least_of(at, std::max(parameter.least, here - reach), std::min(parameter.most, here + reach));
        const double value = at(found);
        if (value < best * (1 - 1e-9)) return value;
        parameter.set(here);
        return best;
    }

    double move_all(const std::vector<double>& from, double best) {
        std::vector<double> here;
        for (const Parameter& parameter : parameters_) here.push_back(parameter.x);
        const auto at = [&](double times) {
            for (std::size_t i = 0; i < here.size(); ++i)
                parameters_[i].set(std::clamp(here[i] + times * (here[i] - from[i]), parameters_[i].least,
                                              parameters_[i].most));
            return loss();
        };
        const double value = at(least_of(at, 0, 4));
        if (value < best * (1 - 1e-9)) return value;
        at(0);
        return best;
    }

    /// Whether the fitted samples depend on it.
    bool is_measured(const Parameter& given) const {
        Parameter parameter = given;
        constexpr double kMove = 0.1, kLeast = 1e-5;
        double changed = 0;
        for (const double step : {-kMove, kMove}) {
            double sum = 0;
            for (const Case& each : cases_) {
                parameter.set(given.x);
                const double before_s = time_s(*each.sample);
                parameter.set(std::clamp(given.x + step, given.least, given.most));
                sum += each.share * std::abs(std::log(time_s(*each.sample) / before_s));
            }
            changed = std::max(changed, sum);
        }
        parameter.set(given.x);
        return changed > kLeast;
    }

    /// What no sample depends on gets its start value.
    void settle() {
        for (Parameter& parameter : parameters_) {
            if (!is_measured(parameter)) parameter.set(0);
        }
        shares_->launch_s = device_.launch_overhead_s;
    }

    /// Measured, of these samples.
    double seconds_of(const std::vector<std::size_t>& indices) const {
        double seconds = 0;
        for (const std::size_t i : indices) seconds += samples_[i].weight * samples_[i].measured_s;
        return seconds;
    }

    CalibrationPart part_of(const std::vector<std::size_t>& indices,
                            const std::vector<double>& predicted_s) const {
        CalibrationPart part;
        part.samples = indices.size();
        if (indices.empty()) return part;
        part.measured_s = seconds_of(indices);
        const auto errors = [&](auto predicted) {
            PredictionErrors found;
            std::vector<double> all;
            for (const std::size_t i : indices) {
                const double error = predicted(i) / samples_[i].measured_s - 1;
                const double share = samples_[i].weight * samples_[i].measured_s / part.measured_s;
                all.push_back(std::abs(error));
                found.weighted += share * std::abs(error);
                found.total += share * error;
            }
            found.median = median(std::move(all));
            return found;
        };
        part.before = errors([&](std::size_t i) { return samples_[i].before_s; });
        part.after = errors([&](std::size_t i) { return predicted_s[i]; });
        return part;
    }

    template <class Chooses>
    std::vector<std::size_t> chosen(bool held_out, Chooses chooses) const {
        std::vector<std::size_t> indices;
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            if (counts(samples_[i]) && held_out_[i] == held_out && chooses(samples_[i].work.work_class))
                indices.push_back(i);
        }
        return indices;
    }

    void report(Calibration& done, const std::vector<double>& predicted_s) const {
        const auto any = [](WorkClass) { return true; };
        done.fitted = part_of(chosen(false, any), predicted_s);
        done.held_out = part_of(chosen(true, any), predicted_s);
        for (std::size_t index = 0; index < kClasses; ++index) {
            const auto work_class = static_cast<WorkClass>(index);
            const auto same = [&](WorkClass other) { return other == work_class; };
            CalibratedClass each{work_class, part_of(chosen(false, same), predicted_s),
                                 part_of(chosen(true, same), predicted_s)};
            if (each.fitted.samples + each.held_out.samples > 0) done.classes.push_back(each);
        }
        for (const CalibrationSample& sample : samples_) {
            if (sample.work.work_class != WorkClass::none || !(sample.measured_s > 0)) continue;
            ++done.unpredicted;
            done.unpredicted_s += sample.weight * sample.measured_s;
        }
    }

    std::size_t signatures_of(const std::vector<std::size_t>& indices) const {
        std::set<std::string_view> distinct;
        for (const std::size_t i : indices) distinct.insert(samples_[i].signature);
        return distinct.size();
    }

    /// The deviation of the total time of these samples.
    double total_deviation(const std::vector<std::size_t>& indices,
                           const std::vector<double>& predicted_s) const {
        const double sum_s = seconds_of(indices);
        double mean = 0, squares = 0, variance = 0;
        // Ops of one signature, and its gradients of the same class, are off alike.
        std::map<std::pair<std::string_view, WorkClass>, double> shares;
        const auto weight = [&](std::size_t i) { return samples_[i].weight * samples_[i].measured_s; };
        const auto error = [&](std::size_t i) { return std::log(predicted_s[i] / samples_[i].measured_s); };
        for (const std::size_t i : indices) {
            mean += weight(i) / sum_s * error(i);
            shares[{samples_[i].signature, samples_[i].work.work_class}] += weight(i) / sum_s;
        }
        for (const auto& [alike, share] : shares) squares += share * share;
        for (const std::size_t i : indices) variance += weight(i) / sum_s * std::pow(error(i) - mean, 2);
        return std::max(kLeastError, std::sqrt(mean * mean + variance * squares));
    }

    /// Sets the errors that the held-out samples show, and returns their names.
    std::vector<std::string> fit_errors(Efficiencies& fitted, const std::vector<double>& predicted_s) const {
        std::vector<std::string> measured;
        for (const EfficiencyField& field : efficiency_fields()) {
            if (!field.name.starts_with("error_")) continue;
            const auto concerns = [&](WorkClass work_class) {
                return field.value == &Efficiencies::error_device || error_of(work_class) == field.value;
            };
            const std::vector<std::size_t> indices = chosen(true, concerns);
            const double held_out_s = seconds_of(indices);
            const double all_s = held_out_s + seconds_of(chosen(false, concerns));
            if (signatures_of(indices) < kLeastHeldOut || held_out_s < kLeastHeldOutShare * all_s) continue;
            fitted.*(field.value) = std::min(field.most, total_deviation(indices, predicted_s));
            measured.emplace_back(field.name);
        }
        return measured;
    }

    std::span<const CalibrationSample> samples_;
    const Device& given_;
    bool has_own_figures_;
    Efficiencies start_;
    std::shared_ptr<Efficiencies> shares_ = std::make_shared<Efficiencies>();
    Device device_;  ///< its efficiencies are shares_
    std::vector<Parameter> parameters_;
    std::vector<bool> held_out_;  ///< [sample]
    std::vector<Case> cases_;     ///< those that the fit sees
};

}  // namespace

std::optional<Calibration> calibrate(const Device& device, std::span<const CalibrationSample> samples,
                                     const CalibrationOptions& options, std::stop_token stop,
                                     const CalibrationProgress& progress) {
    Fit fit(device, samples, options);
    if (!fit.run(stop, progress)) return std::nullopt;
    return fit.result();
}

}  // namespace placewright
