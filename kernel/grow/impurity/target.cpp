#include "grow/impurity/target.hpp"

#include <algorithm>

namespace arboretum {

// In fixed point: the same for any order of the rows.
template <class Value>
double Target::sum_over_rows(Value value) const {
    double largest = 0;
    for (int64_t row = 0; row < n_rows; ++row) largest = std::max(largest, std::abs(value(static_cast<Row>(row))));
    const double scale = room_for(largest * static_cast<double>(n_rows));
    int64_t sum = 0;
    for (int64_t row = 0; row < n_rows; ++row) sum += std::llrint(value(static_cast<Row>(row)) * scale);
    return static_cast<double>(sum) / scale;
}

void Target::choose_scales(int64_t n_draws) {
    double heaviest = 0, farthest = 0, largest = 0;
    bool whole = true;
    for (int64_t row = 0; row < n_rows; ++row) {
        const double w = weight_of(static_cast<Row>(row));
        heaviest = std::max(heaviest, w);
        whole &= w == std::floor(w);
    }
    const double given = sum_over_rows([&](Row row) { return weight_of(row); });
    center.assign(n_outputs, 0.0);
    if (!is_classes() && criterion != Criterion::poisson && !(treatment.n_arms > 0 && has_shares())) set_centers(given);
    for (int64_t row = 0; row < n_rows && !is_classes(); ++row)
        for (int o = 0; o < n_outputs; ++o) {
            const double distance = std::abs(centered(static_cast<Row>(row), o));
            farthest = std::max(farthest, distance);
            largest = std::max(largest, distance * weight_of(static_cast<Row>(row)));
        }
    const double drawn = static_cast<double>(n_draws), total = n_draws > 0 ? heaviest * drawn : given;
    has_whole_weights = whole && std::max(total, given) < 0x1p61;
    weight_scale = has_whole_weights ? 1 : room_for(total);
    sum_scale = has_whole_weights ? room_for(farthest * std::max(given, drawn))
                                  : room_for(largest * static_cast<double>(std::max(n_rows, n_draws)));
    number_scale = room_for(farthest);
    is_countable = whole && total < 0x1p31 && n_rows < int64_t{1} << 31;
    is_packable = is_binary() && whole && total <= packed_most && static_cast<double>(n_rows) <= packed_most;
}

bool Target::has_shares() const {
    return std::all_of(numbers, numbers + n_rows * n_outputs, [](double y) { return y == 0 || y == 1; });
}

// Means to 12 bits; 0 where a mean is next to nothing beside the numbers, hence mostly rounding.
void Target::set_centers(double total) {
    for (int o = 0; o < n_outputs; ++o) {
        double largest = 0;
        const double c = sum_over_rows([&](Row row) {
            const double y = numbers[static_cast<int64_t>(row) * n_outputs + o];
            largest = std::max(largest, std::abs(y));
            return y * (weight_of(row) / total);
        });
        if (std::abs(c) > largest * 0x1p-20)
            center[o] = std::ldexp(std::rint(std::ldexp(c, 12 - std::ilogb(c))), std::ilogb(c) - 12);
    }
}

}  // namespace arboretum
