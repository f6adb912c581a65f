// SPDX-License-Identifier: MIT
// Reports: well-formed, without references to other files, and safe against names from files.
#include <QRegularExpression>
#include <QTest>
#include <QXmlStreamReader>

#include "core/algorithms.hpp"
#include "core/job/compared_case.hpp"
#include "core/job/report.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

class TestReport : public QObject {
    Q_OBJECT

    static Job job(const std::string& name) {
        GraphBuilder builder(name, 1, Training::implicit);
        std::vector<std::string> last;
        for (const char* part : {"a", "b", "c"}) {
            Op op;
            op.name = name + part;
            op.kind = "conv2d";
            op.flops = 1e9;
            op.parameter_bytes = 4000;
            op.outputs = {make_tensor({1000})};
            builder.add(op, last);
            last = {op.name};
        }
        return make_job(std::make_shared<const Graph>(builder.build()),
                        std::make_shared<const Machine>(test::uniform_machine(2)), {});
    }
    static QString report(const Job& of, const ReportContext& context = {}) {
        Placement placement = of.single_device;
        placement.back() = 1;  // so that something is sent
        return QString::fromStdString(html_report(of, placement, context));
    }

private Q_SLOTS:
    void contestantsOfOneAlgorithmAreToldApart() {
        const AlgorithmInfo* automatic = find_algorithm("auto");
        const AlgorithmInfo* tabu = find_algorithm("tabu");
        const std::vector<Contestant> all{{automatic, {}},
                                          {automatic, {{"policy", false}, {"cpus", std::string("never")}}},
                                          {automatic, {{"cpus", std::string("never")}}},
                                          {tabu, {{"allow_cpu", true}}}};
        QCOMPARE(contestant_name(all, 0), "auto");
        QCOMPARE(contestant_name(all, 1), "auto (cpus=never, policy=false)");
        QCOMPARE(contestant_name(all, 2), "auto (cpus=never)");
        QCOMPARE(contestant_name(all, 3), "tabu");
        for (std::size_t i = 0; i < 3; ++i) {
            const auto called = contestant_called(contestant_name(all, i));
            QVERIFY(called && called->algorithm == automatic);
            QCOMPARE(called->options, all[i].options);
            QCOMPARE(contestant_name({*called}, 0), contestant_name(all, i));
        }
        for (const char* wrong : {"", "autos", "auto (", "auto ()", "auto (cpus)", "auto (cpus=)",
                                  "auto (cpus=true)", "auto (cpus=never", "auto (cpus=never,policy=false)",
                                  "auto (cpus=never) ", "auto (cpus=never, )", "auto (generations=3)"})
            QVERIFY2(!contestant_called(wrong), wrong);
    }

    void isWellFormedAndComplete() {
        const Job of = job("net");
        ReportContext context;
        context.about.produced_by = PlacementFile::Producer{"map-elites", 7, 1234, {}};
        context.bound = tightest_bound(of);
        context.options = {"batch size 64"};
        context.graph = "<svg><rect width=\"1\" height=\"1\"/></svg>";
        const QString html = report(of, context);
        // All but the first two tags, which XML does not have so, is XML.
        QString xml = html;
        xml.remove(QStringLiteral("<!DOCTYPE html>")).remove(QStringLiteral("<meta charset=\"utf-8\">"));
        QXmlStreamReader reader(xml);
        QStringList titles;
        while (!reader.atEnd()) {
            if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == QStringLiteral("h2"))
                titles << reader.readElementText();
        }
        QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
        QCOMPARE(titles, (QStringList{"Graph", "Timeline", "Devices", "Transfers", "Where the time goes",
                                      "Options", "Machine", "Placement"}));
        for (const char* part :
             {"Step time ", "map-elites with seed 7 after 1234 evaluations", "No placement can",
              "batch size 64", "prefers-color-scheme: dark", "placewright.placement", "gpu:1"})
            QVERIFY2(html.contains(QLatin1String(part)), part);
    }

    /// Like optimize, the report rounds up what a placement may be above the optimum.
    void gapIsRoundedUp() {
        const Job of = job("net");
        ReportContext context;
        context.bound = tightest_bound(of);
        context.bound->value_s = Simulator(of.problem).run(of.single_device).step_time_s / 1.002;
        const auto text = [&] { return QString::fromStdString(html_report(of, of.single_device, context)); };
        QVERIFY2(text().contains(QStringLiteral("; this one is at most 1 % above optimal.")),
                 qPrintable(text()));
        context.bound->value_s *= 1.002;
        QVERIFY2(text().contains(QStringLiteral("; this one is optimal.")), qPrintable(text()));
    }

    void refersToNothingElse() {
        const QString html = report(job("net"));
        for (const char* pattern :
             {"<script", "<link", "<iframe", "\\bhref=", "\\bsrc=", "url\\(", "@import", "https?:"})
            QVERIFY2(!html.contains(QRegularExpression(QLatin1String(pattern),
                                                       QRegularExpression::CaseInsensitiveOption)),
                     pattern);
    }

    void namesAreEscaped() {
        const QString html = report(job("<script>alert('x')</script>&\"/"));
        QVERIFY(!html.contains(QStringLiteral("<script")));
        QVERIFY(html.contains(QStringLiteral("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;")));
    }

    void largeTimelinesAreBounded() {
        const Job of = make_job(std::make_shared<const Graph>(test::chain(20'000, 1e6, 1000)),
                                std::make_shared<const Machine>(test::uniform_machine(2)), {});
        const QString html = QString::fromStdString(html_report(of, of.single_device, {}));
        QVERIFY2(html.count(QStringLiteral("<rect")) < 5000,
                 qPrintable(QString::number(html.count("<rect"))));
    }
};

QTEST_GUILESS_MAIN(TestReport)
#include "tst_report.moc"
