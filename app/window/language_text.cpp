// SPDX-License-Identifier: MIT
#include "app/window/language_text.hpp"

#include <QCoreApplication>

#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

struct LanguageText {
    Q_DECLARE_TR_FUNCTIONS(Language)
};

}  // namespace

QString phaseTitle(LanguagePhase phase) {
    switch (phase) {
        case LanguagePhase::training:
            return LanguageText::tr("Training");
        case LanguagePhase::prefill:
            return LanguageText::tr("Prefill");
        case LanguagePhase::decode:
            return LanguageText::tr("Decode");
    }
    return {};
}

QString phaseHelp(LanguagePhase phase) {
    switch (phase) {
        case LanguagePhase::training:
            return LanguageText::tr("A step learns from sequences of as many tokens as the context.");
        case LanguagePhase::prefill:
            return LanguageText::tr("A step reads prompts of as many tokens as the context, at once.");
        case LanguagePhase::decode:
            return LanguageText::tr("A step writes one token of each sequence; the context is in the cache.");
    }
    return {};
}

QString tokensText(std::int64_t tokens) {
    return tokens == 1 ? LanguageText::tr("1 token") : LanguageText::tr("%L1 tokens").arg(tokens);
}

QString tokenRateText(double tokens_per_s) {
    return LanguageText::tr("%1 tokens/s").arg(rateText(tokens_per_s));
}

QString longestContextText(const LongestContext& longest, const Machine& machine) {
    if (!longest.device && longest.tokens == kMostSequence) return LanguageText::tr("fits at any length");
    if (!longest.device)
        return LanguageText::tr("fits up to %1 (the model's limit)").arg(tokensText(longest.tokens));
    const QString device = toQString(machine.device(*longest.device).name);
    return longest.tokens == 0
               ? LanguageText::tr("this placement fits at no length (%1)").arg(device)
               : LanguageText::tr("fits up to %1 (%2)").arg(tokensText(longest.tokens), device);
}

QStringList changedLanguage(const LanguageOptions& language) {
    const LanguageOptions usual;
    QStringList changes;
    if (language.phase != usual.phase) changes << phaseTitle(language.phase).toLower();
    if (language.sequence) changes << LanguageText::tr("context of %1").arg(tokensText(*language.sequence));
    if (language.weights)
        changes << LanguageText::tr("%1 weights").arg(toQString(to_string(*language.weights)));
    if (language.cache) changes << LanguageText::tr("%1 cache").arg(toQString(to_string(*language.cache)));
    if (language.latent_cache != usual.latent_cache)
        changes << LanguageText::tr("%1 cache").arg(toQString(to_string(language.latent_cache)));
    if (language.full_cache) changes << LanguageText::tr("full cache");
    if (language.split_layers) changes << LanguageText::tr("split layers");
    return changes;
}

QString languageChangeText(const ReadOptions& before, const ReadOptions& after) {
    const LanguageOptions &from = before.language, &to = after.language;
    if (from.phase != to.phase) return LanguageText::tr("Change to %1").arg(phaseTitle(to.phase).toLower());
    if (from.sequence != to.sequence && to.sequence)
        return LanguageText::tr("Context of %1").arg(tokensText(*to.sequence));
    if (before.batch != after.batch && after.batch)
        return LanguageText::tr("Batch size %L1").arg(*after.batch);
    if (from.weights != to.weights)
        return to.weights ? LanguageText::tr("Weights in %1").arg(toQString(to_string(*to.weights)))
                          : LanguageText::tr("Weights as stored");
    return LanguageText::tr("Change the language model");
}

}  // namespace placewright
