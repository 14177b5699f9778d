// kernel/grow/gradient/part_grower.hpp, kernel/grow/gradient/grow_in_parts.hpp
#include "bind/row_leaves.hpp"
#include "grow/gradient/grow_in_parts.hpp"
#include "grow/gradient/part_grower.hpp"

namespace arboretum {

namespace {

std::span<const std::byte> view(const nb::bytes& bytes) {
    return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

nb::bytes to_bytes(const Bytes& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

template <class Real>
void load(PartGrower& self, Vector<const Real> gradients, Vector<const Real> hessians,
          std::optional<Vector<const Row>> rows, std::optional<Vector<const double>> factor, const TreeParams& params,
          uint64_t seed) {
    std::optional<std::span<const Row>> sample;
    if (rows) sample.emplace(rows->data(), rows->size());
    self.load(std::span(gradients.data(), gradients.size()), std::span(hessians.data(), hessians.size()), sample,
              factor ? factor->data() : nullptr, params, seed);
}

nb::tuple answer(PartGrower& self, const nb::bytes& order) {
    auto answer = std::make_unique<Answer>();
    {
        GilReleased released;
        *answer = self.answer(view(order));
    }
    nb::bytes rows = to_bytes(answer->rows);
    uint64_t* sums = answer->sums.data();
    const size_t n = answer->sums.size();
    nb::capsule owner(answer.release(), [](void* p) noexcept { delete static_cast<Answer*>(p); });
    return nb::make_tuple(nb::ndarray<nb::numpy, uint64_t, nb::ndim<1>>(sums, {n}, owner), rows);
}

Answer read_answer(const nb::object& given) {
    Vector<const uint64_t> sums;
    nb::bytes rows;
    if (!nb::isinstance<nb::tuple>(given) || nb::len(given) != 2 || !nb::try_cast(given[0], sums, false) ||
        !nb::try_cast(given[1], rows, false))
        throw nb::type_error("ask: expected a tuple of an array of uint64 and bytes");
    const std::span<const std::byte> sent = view(rows);
    return {{sums.data(), sums.data() + sums.size()}, {sent.begin(), sent.end()}};
}

// Python's lock is taken only while Python runs; what it raises passes through with the lock held.
void grow(PartGrower& part, const nb::callable& ask, const nb::callable& tell) {
    std::optional<GilReleased> released(std::in_place);
    auto locked = [&](auto&& call) {
        released.reset();
        auto result = call();
        released.emplace();
        return result;
    };
    grow_in_parts(
        part, [&](const Bytes& order) { return locked([&] { return read_answer(ask(to_bytes(order))); }); },
        [&](const Bytes& order) {
            locked([&] {
                tell(to_bytes(order));
                return true;
            });
        });
}

}  // namespace

void bind_parts(nb::module_& m) {
    nb::class_<PartGrower> part(m, "PartGrower", "Some of the rows that a tree is grown from; others lie elsewhere.");
    part.def(nb::init<const BinnedData&, int64_t, int64_t, int>(), nb::keep_alive<1, 2>(), nb::arg("data"),
             nb::arg("first_row"), nb::arg("n_all_rows"), nb::arg("threads"))
        .def("load", &load<float>, nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
             nb::arg("rows").noconvert().none(), nb::arg("factor").noconvert().none(), nb::arg("params"),
             nb::arg("seed"), Released())
        .def("load", &load<double>, nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
             nb::arg("rows").noconvert().none(), nb::arg("factor").noconvert().none(), nb::arg("params"),
             nb::arg("seed"), Released())
        .def("answer", &answer, nb::arg("order"))
        .def_prop_ro("finished", &PartGrower::finished)
        .def_prop_ro("tree", [](const PartGrower& self) { return self.tree(); });
    bind_leaves(part);
    m.def("grow_in_parts", &grow, nb::arg("part"), nb::arg("ask"), nb::arg("tell"));
}

}  // namespace arboretum
