// kernel/losses/ranking.hpp
#include "losses/ranking.hpp"

#include "bind/arrays.hpp"

namespace arboretum {

namespace {

Queries queries_of(const Vector<const int64_t>& start) {
    return {start.data(), static_cast<int64_t>(start.size()) - 1};
}

}  // namespace

void bind_ranking(nb::module_& m) {
    nb::enum_<PairWeight>(m, "PairWeight")
        .value("none", PairWeight::none)
        .value("ndcg", PairWeight::ndcg)
        .value("map", PairWeight::map)
        .value("mrr", PairWeight::mrr);
    nb::enum_<RankingMetric>(m, "RankingMetric")
        .value("ndcg", RankingMetric::ndcg)
        .value("map", RankingMetric::map)
        .value("mrr", RankingMetric::mrr);
    m.def(
        "pair_gradients",
        [](Vector<const double> y, Vector<const double> raw, Vector<const int64_t> start, PairWeight weight,
           int64_t truncation, int64_t cut, Vector<double> gradients, Vector<double> hessians, int threads) {
            PairTask task{y.data(),   raw.data(), queries_of(start), weight,
                          truncation, cut,        gradients.data(),  hessians.data()};
            pair_gradients(task, threads);
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("start").noconvert(), nb::arg("weight"),
        nb::arg("truncation"), nb::arg("cut"), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        nb::arg("threads"), Released());
    m.def(
        "drawn_gradients",
        [](Vector<const double> y, Vector<const double> raw, Vector<const int64_t> start, uint64_t key, int64_t draws,
           Vector<double> gradients, Vector<double> hessians, int threads) {
            DrawnTask task{y.data(), raw.data(), queries_of(start), key, draws, gradients.data(), hessians.data()};
            drawn_gradients(task, threads);
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("start").noconvert(), nb::arg("key"),
        nb::arg("draws"), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("threads"),
        Released());
    m.def(
        "list_gradients",
        [](Vector<const double> y, Vector<const double> raw, Vector<const int64_t> start, Vector<double> gradients,
           Vector<double> hessians, int threads) {
            ListTask task{y.data(), raw.data(), queries_of(start), gradients.data(), hessians.data()};
            list_gradients(task, threads);
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("start").noconvert(),
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("threads"), Released());
    m.def(
        "ranking_metric",
        [](RankingMetric metric, Vector<const double> y, Vector<const double> scores, Vector<const int64_t> start,
           int64_t k, Vector<double> out,
           int threads) { ranking_metric(metric, y.data(), scores.data(), queries_of(start), k, out.data(), threads); },
        nb::arg("metric"), nb::arg("y").noconvert(), nb::arg("scores").noconvert(), nb::arg("start").noconvert(),
        nb::arg("k"), nb::arg("out").noconvert(), nb::arg("threads"), Released());
}

}  // namespace arboretum
