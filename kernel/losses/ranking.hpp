// Ranking: gradients that put the rows of each query into order, and how good an order is.
//
//   start   0        4      6            11      query q owns rows start[q] … start[q + 1] − 1
//   y       0 2 0 1  1 0    0 0 3 0 1            grades; a row of grade y gains 2^y − 1
//   raw     …                                    the highest comes first; of equals, the earlier row
//
// Place p, from 0, counts 1 / log2(p + 2) (Järvelin, Kekäläinen 2002). One thread works on a query.
#pragma once

#include <algorithm>
#include <cstdint>

namespace arboretum {

enum class PairWeight : int { none, ndcg, map, mrr };
enum class RankingMetric : int { ndcg, map, mrr };

struct Queries {
    const int64_t* start;
    int64_t n;

    int64_t longest() const {
        int64_t most = 0;
        for (int64_t q = 0; q < n; ++q) most = std::max(most, start[q + 1] - start[q]);
        return most;
    }
};

struct PairTask {
    const double* y;
    const double* raw;
    Queries queries;
    PairWeight weight;
    int64_t truncation;  // pairs need a row before this place
    int64_t cut;         // the first place that the metric does not count
    double* gradients;
    double* hessians;
};

// LambdaMART (Burges 2010), or RankNet's pairs where all count alike (Burges et al. 2005). Weights of pairs by a metric
// fall with the distance of the scores, once these differ, and the gradients of a query are scaled so that the sum S of
// their sizes becomes log2(1 + S): otherwise, a few long queries would outweigh all others.
void pair_gradients(const PairTask& task, int threads);

struct DrawnTask {
    const double* y;
    const double* raw;
    Queries queries;
    uint64_t key;   // of this round's draws
    int64_t draws;  // orders of each query
    double* gradients;
    double* hessians;
};

// YetiRank (Gulin, Kuralenok, Pavlov 2011): pairs of neighbours in orders by raw + logistic noise. What is drawn follows
// from the key, the number of the order, the grades of the query and the place of a row in it: copies of a query draw
// alike.
void drawn_gradients(const DrawnTask& task, int threads);

struct ListTask {
    const double* y;
    const double* raw;
    Queries queries;
    double* gradients;
    double* hessians;
};

// Cross entropy between the shares of gains and the softmax of raw (Bruch 2021, without noise): p − share, p (1 − p).
// A query without gains has no order to learn.
void list_gradients(const ListTask& task, int threads);

// The metric of every query, cut at place k; NaN where no row is relevant.
void ranking_metric(RankingMetric metric, const double* y, const double* scores, const Queries& queries, int64_t k,
                    double* out, int threads);

}  // namespace arboretum
