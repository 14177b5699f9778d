#include "losses/survival_losses.hpp"

#include <algorithm>
#include <cmath>

#include "base/elementary.hpp"
#include "base/midpoint.hpp"
#include "base/types.hpp"

namespace arboretum {

namespace {

class CoxLoss {
  public:
    explicit CoxLoss(const CoxRows& rows) : rows_(rows), hazard_(rows.n) {
        double total = 0;
        for (int64_t i = 0; i < rows.n; ++i) {
            highest_ = std::max(highest_, rows.raw[i]);
            whole_ &= weight(i) == std::floor(weight(i));
            total += weight(i);
        }
        whole_ &= total <= most_copies * static_cast<double>(rows.n);
        for (int64_t i = 0; i < rows.n; ++i) hazard_[i] = exponential(rows.raw[i] - highest_);
        group_times();
    }

    void gradients(double* gradient, double* hessian) const {
        double slope = 0, square = 0;  // Σ over times so far of W/m Σ 1/(S − l/m E), and of its square
        for (const Time& time : times_) {
            double early = 0, early_square = 0;  // what those who die at this time are spared
            const double share = time.m > 0 ? time.dying / static_cast<double>(time.m) : 0;
            for (int64_t l = 0; l < time.m; ++l) {
                const double part = static_cast<double>(l) / static_cast<double>(time.m);
                const double term = 1 / (time.at_risk - part * time.dead), term_square = term * term;
                slope += share * term;
                square += share * term_square;
                early += share * part * term;
                early_square += share * part * (2 - part) * term_square;
            }
            for (int64_t k = time.begin; k < time.end; ++k) {
                const int64_t i = rows_.order[k];
                const double e = hazard_[i], w = weight(i);
                const double a = slope - (dies(i) ? early : 0.0), b = square - (dies(i) ? early_square : 0.0);
                gradient[i] = w * (e * a - (dies(i) ? 1.0 : 0.0));
                hessian[i] = std::max(w * e * (a - std::min(w, 1.0) * e * b), 0.0);
            }
        }
    }

    void values(double* out) const {
        for (const Time& time : times_) {
            double cost = 0;
            for (int64_t l = 0; l < time.m; ++l)
                cost += std::log(time.at_risk - static_cast<double>(l) / static_cast<double>(time.m) * time.dead);
            if (time.m > 0) cost = cost / static_cast<double>(time.m) + highest_;
            for (int64_t k = time.begin; k < time.end; ++k) {
                const int64_t i = rows_.order[k];
                out[i] = dies(i) ? cost - rows_.raw[i] : 0.0;
            }
        }
    }

    void baseline(std::vector<double>& time, std::vector<double>& log_hazard) const {
        double sum = 0;
        for (const Time& at : times_) {
            if (at.m == 0) continue;
            sum += at.dying / at.at_risk;
            time.push_back(rows_.y[2 * rows_.order[at.begin]]);
            log_hazard.push_back(std::log(sum) - highest_);
        }
    }

  private:
    static constexpr double most_copies = 64;  // mean weight up to which whole weights count as repetitions

    struct Time {
        int64_t begin, end;  // its rows in the order
        double at_risk = 0;  // S
        double dead = 0;     // E
        double dying = 0;    // W
        int64_t m = 0;
    };

    double weight(int64_t i) const { return rows_.weight != nullptr ? rows_.weight[i] : 1.0; }
    bool dies(int64_t i) const { return rows_.y[2 * i + 1] == rows_.y[2 * i] && weight(i) > 0; }

    void group_times() {
        for (int64_t begin = 0, end; begin < rows_.n; begin = end) {
            const double t = rows_.y[2 * rows_.order[begin]];
            Time time{begin, begin};
            for (end = begin; end < rows_.n && rows_.y[2 * rows_.order[end]] == t; ++end) {
                const int64_t i = rows_.order[end];
                time.at_risk += weight(i) * hazard_[i];
                if (!dies(i)) continue;
                time.dead += weight(i) * hazard_[i];
                time.dying += weight(i);
                ++time.m;
            }
            time.end = end;
            if (whole_) time.m = static_cast<int64_t>(time.dying);
            times_.push_back(time);
        }
        for (size_t j = times_.size(); j-- > 1;) times_[j - 1].at_risk += times_[j].at_risk;
    }

    CoxRows rows_;
    std::vector<double> hazard_;  // e^f
    std::vector<Time> times_;
    double highest_ = -infinity;
    bool whole_ = true;
};

// log_rate_above: ln p − ln(1 − F), log_rate_below: ln p − ln F, where both terms may be huge. widest: of z.
struct NormalError {
    static constexpr double widest = 1e8;

    static double log_density(double z) { return -0.5 * z * z - 0.91893853320467274178; }
    static double score(double z) { return -z; }
    static double curvature(double) { return 1; }
    static double log_below(double z) { return z > edge ? std::log(erfc_of(z)) : log_density(z) - far_rate(z); }
    static double log_above(double z) { return log_below(-z); }
    static double log_rate_below(double z) { return z > edge ? log_density(z) - std::log(erfc_of(z)) : far_rate(z); }
    static double log_rate_above(double z) { return log_rate_below(-z); }

  private:
    static constexpr double edge = -37;  // beyond, F underflows, and its asymptotic series is exact to the last digit
    static double erfc_of(double z) { return 0.5 * error_complement(-z * 0.70710678118654752440); }
    static double far_rate(double z) {
        const double r = 1 / (z * z);
        return std::log(-z) - std::log1p(-r * (1 - 3 * r * (1 - 5 * r)));
    }
};

struct LogisticError {
    static constexpr double widest = 1e8;

    static double log_below(double z) { return z < 0 ? z - std::log1p(exponential(z)) : -std::log1p(exponential(-z)); }
    static double log_above(double z) { return log_below(-z); }
    static double log_density(double z) { return log_below(z) + log_above(z); }
    static double log_rate_below(double z) { return log_above(z); }
    static double log_rate_above(double z) { return log_below(z); }
    static double score(double z) { return 1 - 2 / (1 + exponential(-z)); }
    static double curvature(double z) { return 2 * exponential(log_density(z)); }
};

// Least of many: T has a Weibull distribution.
struct ExtremeError {
    static constexpr double widest = 290;  // e^z stays within the range of exponential()

    static double log_density(double z) { return z - exponential(z); }
    static double score(double z) { return 1 - exponential(z); }
    static double curvature(double z) { return exponential(z); }
    static double log_above(double z) { return -exponential(z); }
    static double log_below(double z) { return std::log(-std::expm1(-exponential(z))); }
    static double log_rate_above(double z) { return z; }
    static double log_rate_below(double z) { return log_density(z) - log_below(z); }
};

struct AftTerms {
    double value, gradient, hessian;
};

// log_width: of the range of z that the density is multiplied by.
template <class Error>
AftTerms aft_exact(double z, double sigma, double log_width) {
    return {-Error::log_density(z) - log_width, Error::score(z) / sigma, Error::curvature(z) / (sigma * sigma)};
}

// From the smaller of both tails, that of `near`: F(b) − F(a) = tail(near) (1 − tail(far) / tail(near)).
template <class Error>
AftTerms aft_between(double a, double b, double sigma) {
    if (std::isinf(a) && std::isinf(b)) return {0, 0, 0};
    const bool above = a + b > 0;
    const double near = above ? a : b, far = above ? b : a;
    auto tail = [=](double z) { return above ? Error::log_above(z) : Error::log_below(z); };
    auto rate = [=](double z) { return above ? Error::log_rate_above(z) : Error::log_rate_below(z); };
    const double gap = std::isinf(far) ? -infinity : tail(far) - tail(near);
    const double rest = std::log(-std::expm1(gap));
    const double near_ratio = exponential(rate(near) - rest);
    const double far_ratio = std::isinf(far) ? 0.0 : exponential(rate(far) + gap - rest);
    const double upper = above ? far_ratio : near_ratio, lower = above ? near_ratio : far_ratio;
    auto bent = [](double z, double ratio) { return std::isinf(z) ? 0.0 : Error::score(z) * ratio; };
    const double slope = upper - lower;
    return {-tail(near) - rest, slope / sigma, (slope * slope - bent(b, upper) + bent(a, lower)) / (sigma * sigma)};
}

template <class Error>
AftTerms aft_terms(double lower, double upper, double raw, double sigma) {
    constexpr double narrow = 1e-6;  // here the density hardly varies, and differences of F would cancel
    constexpr double steepest = 1e30;
    auto standard = [&](double t) {
        if (t <= 0) return -infinity;
        return std::isinf(t) ? infinity : std::clamp((std::log(t) - raw) / sigma, -Error::widest, Error::widest);
    };
    const double a = standard(lower), b = standard(upper);
    AftTerms terms;
    if (lower == upper)
        terms = aft_exact<Error>(a, sigma, -std::log(sigma) - std::log(upper));
    else if (b - a < narrow)
        terms = aft_exact<Error>(midpoint(a, b), sigma, std::log((std::log(upper) - std::log(lower)) / sigma));
    else
        terms = aft_between<Error>(a, b, sigma);
    auto bounded = [=](double x) { return std::isnan(x) ? 0.0 : std::clamp(x, -steepest, steepest); };
    return {bounded(terms.value), bounded(terms.gradient), std::max(bounded(terms.hessian), 1e-16)};
}

}  // namespace

void cox_gradients(const CoxRows& rows, double* gradient, double* hessian) {
    CoxLoss(rows).gradients(gradient, hessian);
}

void cox_values(const CoxRows& rows, double* out) { CoxLoss(rows).values(out); }

void cox_baseline(const CoxRows& rows, std::vector<double>& time, std::vector<double>& log_hazard) {
    CoxLoss(rows).baseline(time, log_hazard);
}

void compute_aft(AftDistribution distribution, const AftTask& task) {
    auto fill = [&]<class Error>(Error) {
        for (int64_t i = 0; i < task.n; ++i) {
            const AftTerms terms = aft_terms<Error>(task.y[2 * i], task.y[2 * i + 1], task.raw[i], task.sigma);
            task.values[i] = terms.value;
            task.gradients[i] = terms.gradient;
            task.hessians[i] = terms.hessian;
        }
    };
    switch (distribution) {
        case AftDistribution::normal: return fill(NormalError{});
        case AftDistribution::logistic: return fill(LogisticError{});
        case AftDistribution::extreme: return fill(ExtremeError{});
    }
}

void log_survival(AftDistribution distribution, const double* z, int64_t n, double* out) {
    for (int64_t i = 0; i < n; ++i) switch (distribution) {
            case AftDistribution::normal: out[i] = NormalError::log_above(z[i]); break;
            case AftDistribution::logistic: out[i] = LogisticError::log_above(z[i]); break;
            case AftDistribution::extreme: out[i] = ExtremeError::log_above(z[i]); break;
        }
}

}  // namespace arboretum
