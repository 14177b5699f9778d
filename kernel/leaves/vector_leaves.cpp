#include "leaves/vector_leaves.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "base/whole_sums.hpp"

namespace arboretum {

namespace {

constexpr int64_t vector_block = 65536;

// run(output, begin, end) over all outputs and all blocks of rows.
template <class Run>
void for_each_output_block(int64_t n_outputs, int64_t n_rows, int threads, Run&& run) {
    const int64_t n_blocks = (n_rows + vector_block - 1) / vector_block;
    parallel_for(n_outputs * n_blocks, threads, [&](int64_t task, int) {
        const int64_t begin = task % n_blocks * vector_block;
        run(task / n_blocks, begin, std::min(n_rows, begin + vector_block));
    });
}

}  // namespace

template <class Real>
void compute_output_gradients(LossKind kind, double parameter, const double* y, const double* raw, const double* weight,
                              int64_t n_outputs, int64_t n_rows, Real* gradients, Real* hessians, int threads) {
    const GradientBlock<Real> block = gradient_block_of<Real>(kind);
    for_each_output_block(n_outputs, n_rows, threads, [&](int64_t output, int64_t begin, int64_t end) {
        const int64_t first = output * n_rows;
        block({y + first, raw + first, weight, parameter, gradients + first, hessians + first}, begin, end);
        for (int64_t i = first + begin; i < first + end; ++i)
            if (y[i] != y[i]) gradients[i] = hessians[i] = 0;
    });
}

template <class Real>
void sketch_outputs(const OutputGradients<Real>& of, const double* mix, const double* share, int threads,
                    Real* gradients, Real* hessians) {
    constexpr int64_t chunk = 1024;
    parallel_blocks(of.n_rows, 16 * chunk, threads, [&](int64_t begin, int64_t end, int) {
        double g[chunk], h[chunk];
        for (int64_t first = begin; first < end; first += chunk) {
            const int64_t m = std::min(chunk, end - first);
            std::fill_n(g, m, 0.0);
            std::fill_n(h, m, 0.0);
            for (int64_t k = 0; k < of.n_outputs; ++k) {
                const Real *own_g = of.gradients + k * of.n_rows + first, *own_h = of.hessians + k * of.n_rows + first;
                for (int64_t i = 0; i < m; ++i) {
                    g[i] += mix[k] * static_cast<double>(own_g[i]);
                    h[i] += share[k] * static_cast<double>(own_h[i]);
                }
            }
            for (int64_t i = 0; i < m; ++i) {
                gradients[first + i] = static_cast<Real>(g[i]);
                hessians[first + i] = static_cast<Real>(h[i]);
            }
        }
    });
}

template <class Real>
void sum_outputs_by_node(const std::vector<GrownNode>& nodes, const uint32_t* leaf, const SampledRows& sample,
                         const OutputGradients<Real>& of, const Units* units, int threads, GradientPair* largest,
                         WholePair* out) {
    const int64_t n_nodes = static_cast<int64_t>(nodes.size());
    const int64_t n_blocks = (sample.n + vector_block - 1) / vector_block;
    std::vector<std::vector<WholePair>> sums(of.n_outputs * n_blocks);
    std::vector<GradientPair> largest_of_part(sums.size(), {0, 0});
    for_each_output_block(of.n_outputs, sample.n, threads, [&](int64_t output, int64_t begin, int64_t end) {
        const int64_t part = output * n_blocks + begin / vector_block;
        std::vector<WholePair>& own = sums[part];
        own.resize(n_nodes);
        const Real *g = of.gradients + output * of.n_rows, *h = of.hessians + output * of.n_rows;
        for (int64_t i = begin; i < end; ++i) {
            const Row row = sample.row(i);
            const double gradient = static_cast<double>(g[row]) * sample.times(i);
            const double hessian = static_cast<double>(h[row]) * sample.times(i);
            own[leaf[row]].add({whole(gradient * units[output].gradient), whole(hessian * units[output].hessian)});
            raise(largest_of_part[part].gradient, std::abs(gradient));
            raise(largest_of_part[part].hessian, std::abs(hessian));
        }
    });
    std::fill_n(out, n_nodes * of.n_outputs, WholePair{});
    std::fill_n(largest, of.n_outputs, GradientPair{0, 0});
    for (size_t part = 0; part < sums.size(); ++part) {
        const int64_t output = static_cast<int64_t>(part) / n_blocks;
        raise(largest[output].gradient, largest_of_part[part].gradient);
        raise(largest[output].hessian, largest_of_part[part].hessian);
        for (int64_t node = 0; node < n_nodes; ++node) out[node * of.n_outputs + output].add(sums[part][node]);
    }
    for (int64_t id = n_nodes; id-- > 0;) {
        const GrownNode& node = nodes[id];
        if (node.is_leaf()) continue;
        for (int64_t child : {node.right, node.left})
            for (int64_t k = 0; k < of.n_outputs; ++k) out[id * of.n_outputs + k].add(out[child * of.n_outputs + k]);
    }
}

void add_output_values(const uint32_t* leaf, const double* values, int64_t n_nodes, int64_t n_outputs, int64_t n_rows,
                       int threads, double* raw) {
    for_each_output_block(n_outputs, n_rows, threads, [&](int64_t output, int64_t begin, int64_t end) {
        const double* own = values + output * n_nodes;
        double* to = raw + output * n_rows;
        for (int64_t i = begin; i < end; ++i) to[i] += own[leaf[i]];
    });
}

template void compute_output_gradients(LossKind kind, double parameter, const double* y, const double* raw,
                                       const double* weight, int64_t n_outputs, int64_t n_rows, float* gradients,
                                       float* hessians, int threads);
template void compute_output_gradients(LossKind kind, double parameter, const double* y, const double* raw,
                                       const double* weight, int64_t n_outputs, int64_t n_rows, double* gradients,
                                       double* hessians, int threads);
template void sketch_outputs(const OutputGradients<float>& of, const double* mix, const double* share, int threads,
                             float* gradients, float* hessians);
template void sketch_outputs(const OutputGradients<double>& of, const double* mix, const double* share, int threads,
                             double* gradients, double* hessians);
template void sum_outputs_by_node(const std::vector<GrownNode>& nodes, const uint32_t* leaf, const SampledRows& sample,
                                  const OutputGradients<float>& of, const Units* units, int threads,
                                  GradientPair* largest, WholePair* out);
template void sum_outputs_by_node(const std::vector<GrownNode>& nodes, const uint32_t* leaf, const SampledRows& sample,
                                  const OutputGradients<double>& of, const Units* units, int threads,
                                  GradientPair* largest, WholePair* out);

}  // namespace arboretum
