// SPDX-License-Identifier: MIT
#include "core/io/state/workspace_parts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/io/state/workspace_values.hpp"

namespace placewright {
namespace {

std::string numbers_text(const std::vector<double>& numbers) {
    std::string text;
    for (const double number : numbers) {
        if (!text.empty()) text += ' ';
        append_number(text, number);
    }
    return text;
}

/// "0.5 1": finite numbers from `least` to `most`.
std::vector<double> numbers_from(const JsonValue& value, double least, double most) {
    const std::string whole = value.text();
    std::string_view text = whole;
    std::vector<double> numbers;
    while (!text.empty()) {
        double number = 0;
        if (!next_number(text, number) || !std::isfinite(number) || number < least || number > most)
            value.fail("is not a list of numbers in range, such as \"0.5 1\"");
        numbers.push_back(number);
    }
    return numbers;
}

constexpr double kMostNumber = std::numeric_limits<double>::max();

std::string span_text(const Span& span) {
    std::string text(span.kind == Span::Kind::op ? "op" : "transfer");
    const auto add = [&](auto number) { append_number(text += ' ', number); };
    add(span.resource);
    add(span.op);
    add(span.batch);
    for (const double time_s : {span.queued_s, span.start_s, span.end_s}) add(time_s);
    if (span.kind == Span::Kind::op) {
        add(span.stream);
    } else {
        add(span.from);
        add(span.to);
        add(span.tensor);
        add(span.bytes);
    }
    return text;
}

Span span_from(const JsonValue& value) {
    const std::string whole = value.text();
    std::string_view text = whole;
    Span span;
    for (const auto& [kind, name] :
         {std::pair(Span::Kind::op, std::string_view("op ")), {Span::Kind::transfer, "transfer "}}) {
        if (!text.starts_with(name)) continue;
        span.kind = kind;
        text.remove_prefix(name.size());
        break;
    }
    bool right = text.size() < whole.size() && next_number(text, span.resource) &&
                 next_number(text, span.op) && next_number(text, span.batch);
    for (double* time_s : {&span.queued_s, &span.start_s, &span.end_s})
        right = right && next_number(text, *time_s) && std::isfinite(*time_s);
    right = right && span.end_s >= span.start_s;
    if (span.kind == Span::Kind::op) {
        right = right && next_number(text, span.stream);
    } else {
        right = right && next_number(text, span.from) && next_number(text, span.to) &&
                next_number(text, span.tensor) && next_number(text, span.bytes) &&
                std::isfinite(span.bytes) && span.bytes >= 0;
    }
    if (!right || !text.empty()) value.fail("is not a span, such as \"op 0 3 0 0.1 0.1 0.2 0\"");
    return span;
}

MemorySample sample_from(const JsonValue& value) {
    const std::string whole = value.text();
    std::string_view text = whole;
    MemorySample sample;
    const bool right = next_number(text, sample.device) && next_number(text, sample.time_s) &&
                       next_number(text, sample.bytes) && text.empty() && std::isfinite(sample.time_s) &&
                       std::isfinite(sample.bytes);
    if (!right) value.fail("is not a sample of memory, such as \"0 0.1 4096\"");
    return sample;
}

}  // namespace

Json training_json(const std::vector<TrainingPoint>& curve) {
    Json points = Json::array();
    for (const TrainingPoint& point : curve)
        points.push_back(Json::array({point.updates, point.evaluations, number_json(point.cost),
                                      number_json(point.cost_spread), number_json(point.best_cost),
                                      number_json(point.entropy), number_json(point.divergence),
                                      number_json(point.learning_rate), number_json(point.entropy_weight)}));
    return points;
}

std::shared_ptr<const std::vector<TrainingPoint>> training_from(const JsonValue& value) {
    auto curve = std::make_shared<std::vector<TrainingPoint>>();
    value.for_each_item([&](const JsonValue& item) {
        if (item.size() != 9)
            item.fail(
                "is not an update: expected [updates, evaluations, cost, spread, best, entropy, divergence, "
                "learning rate, entropy weight]");
        TrainingPoint& point = curve->emplace_back();
        point.updates = static_cast<std::uint64_t>(item.at(0).whole(0, kMostWhole));
        point.evaluations = static_cast<std::uint64_t>(item.at(1).whole(0, kMostWhole));
        std::size_t i = 2;
        for (double* number : {&point.cost, &point.cost_spread, &point.best_cost, &point.entropy,
                               &point.divergence, &point.learning_rate, &point.entropy_weight})
            *number = number_from(item.at(i++));
        if (curve->size() > 1 && point.updates <= (*curve)[curve->size() - 2].updates)
            item.at(0).fail("is not greater than the one before");
    });
    return curve;
}

Json distribution_json(const DistributionView& distribution) {
    return {{"devices", placement_text(distribution.devices)},
            {"probability", numbers_text(distribution.probability)},
            {"entropy", number_json(distribution.entropy)},
            {"largest_entropy", number_json(distribution.largest_entropy)},
            {"entropies", means_json(distribution.entropies)}};
}

std::shared_ptr<const DistributionView> distribution_from(const JsonValue& value) {
    auto distribution = std::make_shared<DistributionView>();
    distribution->devices = placement_from(value.at("devices"));
    const auto& devices = distribution->devices;
    if (devices.empty() || std::ranges::adjacent_find(devices, std::greater_equal()) != devices.end())
        value.at("devices").fail("is not an ascending list of devices");
    distribution->probability = numbers_from(value.at("probability"), 0, 1);
    if (distribution->probability.size() % devices.size() != 0)
        value.at("probability").fail("must have one number for each group and device");
    distribution->entropy = number_from(value.at("entropy"));
    distribution->largest_entropy = number_from(value.at("largest_entropy"));
    distribution->entropies = means_from(value.at("entropies"));
    return distribution;
}

Json factors_json(const WhatIf& factors) {
    return {{"bandwidth", numbers_text(factors.bandwidth)},
            {"memory", numbers_text(factors.memory)},
            {"speed", numbers_text(factors.speed)}};
}

WhatIf factors_from(const JsonValue& value) {
    const auto list = [&](const char* name) {
        return numbers_from(value.at(name), kLeastFactor, kMostFactor);
    };
    return {list("bandwidth"), list("memory"), list("speed")};
}

void add_measured(Json& object, const MeasuredRun& run) {
    object["placement"] = placement_text(run.placement);
    object["steps_s"] = numbers_text(run.step_times_s);
    object["peak_bytes"] = numbers_text(run.peak_bytes);
    Json spans = Json::array(), memory = Json::array();
    for (const Span& span : run.trace.spans) spans.push_back(span_text(span));
    for (const MemorySample& sample : run.trace.memory) {
        std::string text;
        append_number(text, sample.device);
        for (const double number : {sample.time_s, sample.bytes}) append_number(text += ' ', number);
        memory.push_back(std::move(text));
    }
    object["spans"] = std::move(spans);
    object["memory"] = std::move(memory);
}

MeasuredRun measured_from(const JsonValue& value) {
    MeasuredRun run;
    run.name = value.at("name").text();
    run.placement = placement_from(value.at("placement"));
    run.step_times_s = numbers_from(value.at("steps_s"), 0, kMostNumber);
    run.peak_bytes = numbers_from(value.at("peak_bytes"), 0, kMostNumber);
    value.at("spans").for_each_item(
        [&](const JsonValue& item) { run.trace.spans.push_back(span_from(item)); });
    value.at("memory").for_each_item(
        [&](const JsonValue& item) { run.trace.memory.push_back(sample_from(item)); });
    return run;
}

}  // namespace placewright
