// Losses of times that may be censored: Cox's partial likelihood and accelerated failure times.
#pragma once

#include <cstdint>
#include <vector>

namespace arboretum {

// ---- Cox (1972), ties after Efron (1977) -------------------------------------------------------------------------
//
// At a time of death, let S be the sum of w·e^f over the rows at risk, and E the part of the m rows that die then,
// whose weight is W. The time costs
//
//   −Σ_dead w f + (W / m) Σ_{l<m} ln(S − l/m · E)
//
// If all weights are whole, m is W: a row of weight 3 is three rows. Only differences of f count, so f is taken
// relative to its largest value.
struct CoxRows {
    const double* y;       // rows × 2: time, and the same again for an event, infinity for a censored row
    const double* raw;     // f
    const double* weight;  // or null
    const int64_t* order;  // rows by rising time
    int64_t n;
};

// Derivatives of the whole loss by each f. The hessian of a row of weight 3 is that of three rows.
void cox_gradients(const CoxRows& rows, double* gradient, double* hessian);

// What each death costs, per unit of weight; 0 for rows without event.
void cox_values(const CoxRows& rows, double* out);

// Logarithm of the cumulative hazard of a row with f = 0 at each time of death (Breslow 1974).
void cox_baseline(const CoxRows& rows, std::vector<double>& time, std::vector<double>& log_hazard);

// ---- accelerated failure times (Barnwal, Cho, Hocking 2022) ------------------------------------------------------
//
// ln T = f + σ Z with Z of a known distribution. A time known exactly costs −ln p(z) + ln(σ t), one between two bounds
// −ln(F(z_upper) − F(z_lower)), with z = (ln t − f) / σ. Distributions are given by logarithms, so that tails
// neither vanish nor cancel:
//
//   score (ln p)',  curvature −(ln p)'',  log_below ln F,  log_above ln(1 − F)
enum class AftDistribution : int { normal, logistic, extreme };

struct AftTask {
    const double* y;  // rows × 2: bounds
    const double* raw;
    double sigma;
    int64_t n;
    double *values, *gradients, *hessians;
};

void compute_aft(AftDistribution distribution, const AftTask& task);

// ln P(Z > z).
void log_survival(AftDistribution distribution, const double* z, int64_t n, double* out);

}  // namespace arboretum
