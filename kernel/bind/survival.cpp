// kernel/losses/survival_losses.hpp, kernel/leaves/hazards.hpp, kernel/losses/concordance.hpp
#include "bind/arrays.hpp"
#include "leaves/hazards.hpp"
#include "losses/concordance.hpp"
#include "losses/survival_losses.hpp"

namespace arboretum {

namespace {

CoxRows cox_rows(const Matrix<const double>& y, const Vector<const double>& raw,
                 const std::optional<Vector<const double>>& weight, const Vector<const int64_t>& order) {
    return {y.data(), raw.data(), weight ? weight->data() : nullptr, order.data(), static_cast<int64_t>(raw.size())};
}

void bind_cox(nb::module_& m) {
    m.def(
        "cox_gradients",
        [](Matrix<const double> y, Vector<const double> raw, std::optional<Vector<const double>> weight,
           Vector<const int64_t> order, Vector<double> gradients, Vector<double> hessians) {
            cox_gradients(cox_rows(y, raw, weight, order), gradients.data(), hessians.data());
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(),
        nb::arg("order").noconvert(), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), Released());
    m.def(
        "cox_values",
        [](Matrix<const double> y, Vector<const double> raw, std::optional<Vector<const double>> weight,
           Vector<const int64_t> order,
           Vector<double> out) { cox_values(cox_rows(y, raw, weight, order), out.data()); },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(),
        nb::arg("order").noconvert(), nb::arg("out").noconvert(), Released());
    m.def(
        "cox_baseline",
        [](Matrix<const double> y, Vector<const double> raw, std::optional<Vector<const double>> weight,
           Vector<const int64_t> order) {
            std::vector<double> time, log_hazard;
            {
                GilReleased released;
                cox_baseline(cox_rows(y, raw, weight, order), time, log_hazard);
            }
            return nb::make_tuple(to_numpy<double>(time), to_numpy<double>(log_hazard));
        },
        nb::arg("y").noconvert(), nb::arg("raw").noconvert(), nb::arg("weight").noconvert().none(),
        nb::arg("order").noconvert());
}

void bind_aft(nb::module_& m) {
    nb::enum_<AftDistribution>(m, "AftDistribution")
        .value("normal", AftDistribution::normal)
        .value("logistic", AftDistribution::logistic)
        .value("extreme", AftDistribution::extreme);
    m.def(
        "aft_terms",
        [](AftDistribution distribution, double sigma, Matrix<const double> y, Vector<const double> raw,
           Vector<double> values, Vector<double> gradients, Vector<double> hessians) {
            compute_aft(distribution, {y.data(), raw.data(), sigma, static_cast<int64_t>(raw.size()), values.data(),
                                       gradients.data(), hessians.data()});
        },
        nb::arg("distribution"), nb::arg("sigma"), nb::arg("y").noconvert(), nb::arg("raw").noconvert(),
        nb::arg("values").noconvert(), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), Released());
    m.def(
        "aft_log_survival",
        [](AftDistribution distribution, Matrix<const double> z, Matrix<double> out) {
            log_survival(distribution, z.data(), static_cast<int64_t>(z.size()), out.data());
        },
        nb::arg("distribution"), nb::arg("z").noconvert(), nb::arg("out").noconvert(), Released());
}

}  // namespace

void bind_survival(nb::module_& m) {
    bind_cox(m);
    bind_aft(m);
    m.def(
        "leaf_hazards",
        [](Vector<const int32_t> leaf, std::optional<Vector<const uint32_t>> copies,
           std::optional<Vector<const double>> weight, Vector<const double> rank, Vector<const int32_t> time,
           int64_t n_nodes) {
            LeafHazards found;
            {
                GilReleased released;
                found = leaf_hazards({leaf.data(), copies ? copies->data() : nullptr, weight ? weight->data() : nullptr,
                                      rank.data(), time.data(), static_cast<int64_t>(leaf.size())},
                                     n_nodes);
            }
            return nb::make_tuple(to_numpy<int64_t>(found.start), to_numpy<int32_t>(found.time),
                                  to_numpy<double>(found.step));
        },
        nb::arg("leaf").noconvert(), nb::arg("copies").noconvert().none(), nb::arg("weight").noconvert().none(),
        nb::arg("rank").noconvert(), nb::arg("time").noconvert(), nb::arg("n_nodes"));
    m.def(
        "concordance",
        [](Vector<const double> time, Vector<const uint8_t> event, Vector<const double> risk,
           std::optional<Vector<const double>> weight, double tolerance) {
            Concordance found;
            {
                GilReleased released;
                found = concordance({time.data(), event.data(), risk.data(), weight ? weight->data() : nullptr,
                                     static_cast<int64_t>(time.size())},
                                    tolerance);
            }
            return nb::make_tuple(found.agreeing, found.disagreeing, found.tied);
        },
        nb::arg("time").noconvert(), nb::arg("event").noconvert(), nb::arg("risk").noconvert(),
        nb::arg("weight").noconvert().none(), nb::arg("tolerance"));
}

}  // namespace arboretum
