// SPDX-License-Identifier: MIT
#include "app/window/option_text.hpp"

#include <QCoreApplication>

#include "app/window/language_text.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

struct OptionsText {
    Q_DECLARE_TR_FUNCTIONS(Options)
};

QString batchesText(const SimulationOptions& simulation) {
    QString text = simulation.batches == 1 ? OptionsText::tr("1 batch")
                                           : OptionsText::tr("%1 batches").arg(simulation.batches);
    if (simulation.in_flight > 1) text += OptionsText::tr(", %1 in flight").arg(simulation.in_flight);
    return text;
}

QString groupingText(const GroupingOptions& grouping) {
    switch (grouping.rule) {
        case GroupingRule::none:
            return {};
        case GroupingRule::colocation:
            return OptionsText::tr("colocated ops");
        case GroupingRule::scope:
            return grouping.scope_depth == 1
                       ? OptionsText::tr("grouped by module")
                       : OptionsText::tr("grouped by module, depth %1").arg(grouping.scope_depth);
        case GroupingRule::merge:
            return grouping.merge_below_bytes > 0
                       ? OptionsText::tr("merged below %1")
                             .arg(bytesText(static_cast<double>(grouping.merge_below_bytes)))
                       : OptionsText::tr("merged to %1 groups").arg(grouping.merge_groups);
    }
    return {};
}

}  // namespace

QString orderTitle(Order order) {
    switch (order) {
        case Order::fifo:
            return OptionsText::tr("First come, first served");
        case Order::critical_path:
            return OptionsText::tr("Critical path first");
        case Order::gpipe:
            return OptionsText::tr("GPipe");
        case Order::one_forward_one_backward:
            return OptionsText::tr("1F1B");
    }
    return {};
}

QString runtimeTitle(Runtime runtime) {
    switch (runtime) {
        case Runtime::ideal:
            return OptionsText::tr("Ideal");
        case Runtime::eager:
            return OptionsText::tr("Eager");
        case Runtime::compiled:
            return OptionsText::tr("Compiled");
    }
    return {};
}

QString precisionTitle(Precision precision) {
    switch (precision) {
        case Precision::as_given:
            return OptionsText::tr("As in the file");
        case Precision::fp32:
            return OptionsText::tr("Float32");
        case Precision::tf32:
            return OptionsText::tr("TF32");
        case Precision::amp_fp16:
            return OptionsText::tr("Mixed float16 (autocast)");
        case Precision::amp_bf16:
            return OptionsText::tr("Mixed bfloat16 (autocast)");
        case Precision::bf16:
            return OptionsText::tr("Bfloat16");
        case Precision::fp16:
            return OptionsText::tr("Float16");
    }
    return {};
}

QString precisionHelp(Precision precision) {
    const QString autocast = OptionsText::tr(
        "Autocast of PyTorch: products in %1; norms, losses and parameters in float32; casts between them");
    switch (precision) {
        case Precision::as_given:
            return OptionsText::tr("The types in the network file; TF32 where the machine file says so");
        case Precision::fp32:
            return OptionsText::tr("Everything in 32 bits; products without TF32");
        case Precision::tf32:
            return OptionsText::tr("Tensors in 32 bits; products in TF32 where a device has it");
        case Precision::amp_fp16:
            return autocast.arg(QStringLiteral("float16"));
        case Precision::amp_bf16:
            return autocast.arg(QStringLiteral("bfloat16"));
        case Precision::bf16:
            return OptionsText::tr("Tensors and parameters in bfloat16");
        case Precision::fp16:
            return OptionsText::tr("Tensors and parameters in float16");
    }
    return {};
}

QString recomputationTitle(Recomputation recomputation) {
    switch (recomputation) {
        case Recomputation::none:
            return OptionsText::tr("Keep everything");
        case Recomputation::segments:
            return OptionsText::tr("Recompute segments");
        case Recomputation::cheap:
            return OptionsText::tr("Recompute cheap ops");
    }
    return {};
}

QString crossingTitle(Crossing crossing) {
    return crossing == Crossing::cut_through ? OptionsText::tr("Cut-through")
                                             : OptionsText::tr("Store and forward");
}

QString offloadTitle(Offload offload) {
    return offload == Offload::stream ? OptionsText::tr("Stream weights to the first GPU")
                                      : OptionsText::tr("Compute on the CPU");
}

QString frameworkTitle(Framework framework) {
    return framework == Framework::pytorch ? OptionsText::tr("PyTorch") : OptionsText::tr("None");
}

QString allocatorTitle(Allocator allocator) {
    switch (allocator) {
        case Allocator::none:
            return OptionsText::tr("None");
        case Allocator::pytorch:
            return OptionsText::tr("PyTorch");
        case Allocator::pytorch_segments:
            return OptionsText::tr("PyTorch with segments");
    }
    return {};
}

QString memoryModelTitle(MemoryModel model) {
    return model == MemoryModel::exprimo ? OptionsText::tr("Exprimo")
                                         : OptionsText::tr("Whole training step");
}

QString objectiveTitle(const Objective& objective) {
    return toQString(objective.title);
}

QString objectiveName(const Objective& objective) {
    return objectiveTitle(objective).toLower();
}

QString memoryRuleTitle(MemoryRule rule) {
    switch (rule) {
        case MemoryRule::exprimo:
            return OptionsText::tr("Exprimo: per MB over the limit");
        case MemoryRule::placeto:
            return OptionsText::tr("Placeto: fullest device only");
        case MemoryRule::post:
            return OptionsText::tr("Post: fixed 100 s");
    }
    return {};
}

QString groupingTitle(GroupingRule rule) {
    switch (rule) {
        case GroupingRule::none:
            return OptionsText::tr("Single ops");
        case GroupingRule::colocation:
            return OptionsText::tr("With the only reader");
        case GroupingRule::scope:
            return OptionsText::tr("By module");
        case GroupingRule::merge:
            return OptionsText::tr("Small groups merged");
    }
    return {};
}

QString optimizerTitle(double states) {
    return states == 0   ? OptionsText::tr("Plain SGD")
           : states == 1 ? OptionsText::tr("SGD with momentum")
           : states == 2 ? OptionsText::tr("Adam")
                         : OptionsText::tr("%1 states").arg(states);
}

QStringList changedOptions(const JobOptions& options, const std::optional<LanguageOptions>& language) {
    const JobOptions defaults;
    const ProblemOptions &problem = options.problem, &usual = defaults.problem;
    QStringList changes;
    if (options.reading.batch) changes << OptionsText::tr("batch size %1").arg(*options.reading.batch);
    changes << changedLanguage(options.reading.language);
    if (problem.inference) changes << OptionsText::tr("inference");
    if (problem.precision != usual.precision && (!language || takes_precision(*language)))
        changes << toQString(to_string(problem.precision));
    if (options.simulation.batches != defaults.simulation.batches ||
        options.simulation.in_flight != defaults.simulation.in_flight)
        changes << batchesText(options.simulation);
    if (options.simulation.order != defaults.simulation.order || !options.pipeline_order)
        changes << orderTitle(options.simulation.order);
    if (options.simulation.runtime != defaults.simulation.runtime)
        changes << OptionsText::tr("%1 runtime").arg(runtimeTitle(options.simulation.runtime).toLower());
    if (options.simulation.host_time_s != defaults.simulation.host_time_s)
        changes << OptionsText::tr("host time %1").arg(secondsText(options.simulation.host_time_s));
    if (problem.offload != usual.offload) changes << OptionsText::tr("streamed weights");
    if (problem.accumulate_gradients) changes << OptionsText::tr("accumulated gradients");
    const Supplements& beside = options.supplements;
    if (!beside.times.empty())
        changes << (beside.times.size() == 1
                        ? OptionsText::tr("times from %1")
                              .arg(QString::fromStdString(beside.times.front().trace.filename().string()))
                        : OptionsText::tr("times from %1 traces").arg(beside.times.size()));
    if (!options.profile.empty())
        changes << OptionsText::tr("measured times of %1")
                       .arg(QString::fromStdString(options.profile.filename().string()));
    else if (beside.times.empty() && problem.cost.model != usual.cost.model)
        changes << OptionsText::tr("%1 times").arg(toQString(problem.cost.model->title));
    if (!beside.parameters.empty())
        changes << OptionsText::tr("sizes from %1")
                       .arg(QString::fromStdString(beside.parameters.filename().string()));
    if (problem.optimizer_states != usual.optimizer_states)
        changes << optimizerTitle(problem.optimizer_states);
    if (problem.recomputation != usual.recomputation) changes << recomputationTitle(problem.recomputation);
    if (problem.optimizer_in_backward) changes << OptionsText::tr("updates in the backward pass");
    if (problem.in_place) changes << OptionsText::tr("in place");
    if (problem.workspace_limit_bytes > 0)
        changes << OptionsText::tr("workspaces up to %1").arg(bytesText(problem.workspace_limit_bytes));
    if (problem.framework != usual.framework) changes << OptionsText::tr("no framework in memory");
    if (problem.context_bytes)
        changes << OptionsText::tr("context of %1").arg(bytesText(*problem.context_bytes));
    if (problem.allocator)
        changes << (*problem.allocator == Allocator::none
                        ? OptionsText::tr("tensors not rounded")
                        : OptionsText::tr("%1 allocator").arg(allocatorTitle(*problem.allocator)));
    if (problem.usable_memory != usual.usable_memory)
        changes << OptionsText::tr("%1 of memory").arg(percentText(problem.usable_memory));
    if (problem.memory != usual.memory)
        changes << OptionsText::tr("%1 memory").arg(memoryModelTitle(problem.memory));
    if (options.objective != defaults.objective) changes << objectiveName(*options.objective);
    if (options.penalty.rule != defaults.penalty.rule)
        changes << OptionsText::tr("%1 penalty")
                       .arg(memoryRuleTitle(options.penalty.rule).section(QLatin1Char(':'), 0, 0));
    if (problem.grouping.rule != GroupingRule::none) changes << groupingText(problem.grouping);
    if (const std::size_t rules = problem.constraints.rules.size(); rules > 0)
        changes << (rules == 1 ? OptionsText::tr("1 constraint")
                               : OptionsText::tr("%1 constraints").arg(rules));
    if (problem.crossing) changes << crossingTitle(*problem.crossing);
    if (problem.cost.compute_efficiency)
        changes << OptionsText::tr("computing at %1").arg(percentText(*problem.cost.compute_efficiency));
    if (problem.cost.channel_efficiency)
        changes << OptionsText::tr("channels at %1").arg(percentText(*problem.cost.channel_efficiency));
    return changes;
}

}  // namespace placewright
