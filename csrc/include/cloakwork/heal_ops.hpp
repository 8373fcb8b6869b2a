// The ops of heal_device.hpp: the vendor's function of each, and how a launch becomes its tensors.
//
// V is the vendor's struct; docs/kernels.md defines the launches. `In` and `Out` are the types of
// elements; the others have the type of the result.
#ifndef CLOAKWORK_HEAL_OPS_HPP_
#define CLOAKWORK_HEAL_OPS_HPP_

#include "cloakwork/heal_device.hpp"

namespace cloakwork {
namespace heal {

CLOAKWORK_HEAL_CALL(modmul_ttt);
CLOAKWORK_HEAL_CALL(modsum_ttt);
CLOAKWORK_HEAL_CALL(mod_tt);
CLOAKWORK_HEAL_CALL(modneg_tt);
CLOAKWORK_HEAL_CALL(abs);
CLOAKWORK_HEAL_CALL(axis_modsum);
CLOAKWORK_HEAL_CALL(modmul_axis_sum);
CLOAKWORK_HEAL_CALL(ntt);
CLOAKWORK_HEAL_CALL(intt);
CLOAKWORK_HEAL_CALL(apply_g_decomp);
CLOAKWORK_HEAL_CALL(apply_g_decomp_relative_to_full_q);
CLOAKWORK_HEAL_CALL(take_along_axis);
CLOAKWORK_HEAL_CALL(set_const_val);
CLOAKWORK_HEAL_CALL(contiguous);

// What rows say of an op over elements of two types, and whether the vendor has its function.
template <class In, class Out, class V, class Function, class... Arguments>
struct Typed {
  static constexpr uint32_t in_dtype = TypeOf<In>::dtype;
  static constexpr uint32_t out_dtype = TypeOf<Out>::dtype;
  static constexpr uint32_t element_bytes = 0;
  static std::string suffix() {
    const std::string in = TypeOf<In>::suffix, out = TypeOf<Out>::suffix;
    return in == out ? in : in + out;
  }
  static constexpr bool is_there = Takes<V, Function, std::tuple<Arguments...>>::value;
};

// The same of an op that moves elements of a size.
template <class T, class V, class Function, class... Arguments>
struct Sized {
  static constexpr uint32_t in_dtype = CW_ANY;
  static constexpr uint32_t out_dtype = CW_ANY;
  static constexpr uint32_t element_bytes = sizeof(T);
  static std::string suffix() { return "_b" + std::to_string(sizeof(T)); }
  static constexpr bool is_there = Takes<V, Function, std::tuple<Arguments...>>::value;
};

template <class V, class T>
using Ref = TensorOf<V, T>&;

// modmul_ttt(a, b, p, out), modsum_ttt(a, b, p, out): out = a op b mod p, all of the shape of out
// but p, which is a vector along the last axis.
template <class V, class T, class Function>
struct Binary : Typed<T, T, V, Function, Ref<V, T>, Ref<V, T>, Ref<V, T>, Ref<V, T>> {
  static void run(const cw_launch* launch) {
    Part::by_modulus(launch, 3, first_axes(launch->rank), [](const Part& part) {
      auto out = part.tensor<V, T>(0, part.axes_and_modulus(0));
      auto a = part.tensor<V, T>(1, part.axes_and_modulus(1));
      auto b = part.tensor<V, T>(2, part.axes_and_modulus(2));
      auto p = part.tensor<V, T>(3, {part.modulus(3)});
      Function::template call<V>(a, b, p, out);
    });
  }
};

template <class V, class T>
struct ModMul : Binary<V, T, Call_modmul_ttt> {
  static constexpr const char* kernel = "modmul";
};

template <class V, class T>
struct ModSum : Binary<V, T, Call_modsum_ttt> {
  static constexpr const char* kernel = "modsum";
};

// modneg_tt(a, p, out): out = -a mod p.
template <class V, class T>
struct ModNeg : Typed<T, T, V, Call_modneg_tt, Ref<V, T>, Ref<V, T>, Ref<V, T>> {
  static constexpr const char* kernel = "modneg";
  static void run(const cw_launch* launch) {
    Part::by_modulus(launch, 2, first_axes(launch->rank), [](const Part& part) {
      auto out = part.tensor<V, T>(0, part.axes_and_modulus(0));
      auto a = part.tensor<V, T>(1, part.axes_and_modulus(1));
      auto p = part.tensor<V, T>(2, {part.modulus(2)});
      Call_modneg_tt::call<V>(a, p, out);
    });
  }
};

// mod_tt(a, b, out): out = a % b, all of one shape.
template <class V, class T>
struct Mod : Typed<T, T, V, Call_mod_tt, Ref<V, T>, Ref<V, T>, Ref<V, T>> {
  static constexpr const char* kernel = "mod";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    auto out = part.tensor<V, T>(0, part.axes(0));
    auto a = part.tensor<V, T>(1, part.axes(1));
    auto b = part.tensor<V, T>(2, part.axes(2));
    Call_mod_tt::call<V>(a, b, out);
  }
};

// abs(a, out).
template <class V, class T>
struct Abs : Typed<T, T, V, Call_abs, Ref<V, T>, Ref<V, T>> {
  static constexpr const char* kernel = "abs";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    auto out = part.tensor<V, T>(0, part.axes(0));
    auto a = part.tensor<V, T>(1, part.axes(1));
    Call_abs::call<V>(a, out);
  }
};

// axis_modsum(a, axis, q, out): out = the sum of a along axis, mod q along the last axis. The axis
// is always 0.
template <class V, class T>
struct AxisModSum : Typed<T, T, V, Call_axis_modsum, Ref<V, T>, int64_t&, Ref<V, T>, Ref<V, T>> {
  static constexpr const char* kernel = "axis_modsum";
  static void run(const cw_launch* launch) {
    const uint32_t summed = launch->rank - 1;
    Part::by_modulus(launch, 2, first_axes(summed), [summed](const Part& part) {
      std::vector<Axis> over_a = part.axes_and_modulus(1);
      over_a.insert(over_a.begin(), part.axis(1, summed));
      auto out = part.tensor<V, T>(0, part.axes_and_modulus(0));
      auto a = part.tensor<V, T>(1, over_a);
      auto q = part.tensor<V, T>(2, {part.modulus(2)});
      int64_t axis = 0;
      Call_axis_modsum::call<V>(a, axis, q, out);
    });
  }
};

// modmul_axis_sum(a, b, q, perm, out, apply_perm, axis) with a [r, s, k, n], b [s, k, n],
// out [r, k, n], axis -1: out[r, k, p(n)] += sum over s of a[r, s, k, n] * b[s, k, p(n)], mod q[k].
// perm is without data where apply_perm is false.
template <class V, class T>
struct ModMulAxisSum
    : Typed<T, T, V, Call_modmul_axis_sum, Ref<V, T>, Ref<V, T>, Ref<V, T>, Ref<V, int64_t>,
            Ref<V, T>, bool&, int64_t&> {
  static constexpr const char* kernel = "modmul_axis_sum";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    enum : uint32_t { kR, kK, kN, kS };
    const auto over = [&](uint32_t operand, std::initializer_list<uint32_t> axes) {
      std::vector<Axis> found;
      for (const uint32_t axis : axes) found.push_back(part.axis(operand, axis));
      return found;
    };
    auto out = part.tensor<V, T>(0, over(0, {kR, kK, kN}));
    auto a = part.tensor<V, T>(1, over(1, {kR, kS, kK, kN}));
    auto b = part.tensor<V, T>(2, over(2, {kS, kK, kN}));
    auto q = part.tensor<V, T>(3, over(3, {kK}));
    auto perm = part.tensor<V, int64_t>(4, over(4, {kN}));
    bool apply_perm = part.has(4);
    int64_t axis = -1;
    Call_modmul_axis_sum::call<V>(a, b, q, perm, out, apply_perm, axis);
  }
};

// Axes l, m, r, k of an operand of a transform, whose launch has l, r, k, m.
inline std::vector<Axis> transform_axes(const Part& part, uint32_t operand) {
  return {part.axis(operand, 0), part.axis(operand, 3), part.axis(operand, 1),
          part.axis(operand, 2)};
}

// ntt(a, axis, perm, q, psi, out, tile, skip_perm) with a and out [l, m, r, k], perm [m], q [k],
// psi [k, m], axis -3. With tile, a has size 1 along k. perm is without data with skip_perm.
template <class V, class In, class T>
struct Ntt : Typed<In, T, V, Call_ntt, Ref<V, In>, int64_t&, Ref<V, int64_t>, Ref<V, T>, Ref<V, T>,
                   Ref<V, T>, bool&, bool&> {
  static constexpr const char* kernel = "ntt";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    std::vector<Axis> over_a = transform_axes(part, 1);
    bool tile = over_a[3].stride == 0 && over_a[3].size > 1;
    if (tile) over_a[3].size = 1;
    auto out = part.tensor<V, T>(0, transform_axes(part, 0));
    auto a = part.tensor<V, In>(1, over_a);
    auto q = part.tensor<V, T>(2, {part.axis(2, 2)});
    auto psi = part.tensor<V, T>(3, {part.axis(3, 2), part.axis(3, 3)});
    auto perm = part.tensor<V, int64_t>(4, {part.axis(4, 3)});
    bool skip_perm = !part.has(4);
    int64_t axis = -3;
    Call_ntt::call<V>(a, axis, perm, q, psi, out, tile, skip_perm);
  }
};

// intt(a, perm, q, psi_inv, n_inv, out, skip_perm) with the shapes of ntt, n_inv [k].
template <class V, class T>
struct Intt : Typed<T, T, V, Call_intt, Ref<V, T>, Ref<V, int64_t>, Ref<V, T>, Ref<V, T>, Ref<V, T>,
                    Ref<V, T>, bool&> {
  static constexpr const char* kernel = "intt";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    auto out = part.tensor<V, T>(0, transform_axes(part, 0));
    auto a = part.tensor<V, T>(1, transform_axes(part, 1));
    auto q = part.tensor<V, T>(2, {part.axis(2, 2)});
    auto psi_inv = part.tensor<V, T>(3, {part.axis(3, 2), part.axis(3, 3)});
    auto perm = part.tensor<V, int64_t>(4, {part.axis(4, 3)});
    auto n_inv = part.tensor<V, T>(5, {part.axis(5, 2)});
    bool skip_perm = !part.has(4);
    Call_intt::call<V>(a, perm, q, psi_inv, n_inv, out, skip_perm);
  }
};

// apply_g_decomp(a, g_exp, g_base_bits, out): out has one axis more, of g_exp digits.
template <class V, class In, class T>
struct GDecomp
    : Typed<In, T, V, Call_apply_g_decomp, Ref<V, In>, int64_t&, int64_t&, Ref<V, T>> {
  static constexpr const char* kernel = "g_decomp";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    int64_t bits = part.param(0), digits = part.param(1);
    auto out = part.tensor<V, T>(0, joined(part.axes(0), {digits, part.param(2)}));
    auto a = part.tensor<V, In>(1, part.axes(1));
    Call_apply_g_decomp::call<V>(a, digits, bits, out);
  }
};

// apply_g_decomp_relative_to_full_q(a, q, g_exp, g_base_bits, out) with a [x, k, y], q [k],
// out [x, g_exp, y].
template <class V, class In, class T>
struct GDecompFullQ : Typed<In, T, V, Call_apply_g_decomp_relative_to_full_q, Ref<V, In>,
                            Ref<V, In>, int64_t&, int64_t&, Ref<V, T>> {
  static constexpr const char* kernel = "g_decomp_full_q";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    int64_t bits = part.param(0), digits = part.param(1);
    const Axis digit = {digits, part.param(2)};
    auto out = part.tensor<V, T>(0, {part.axis(0, 0), digit, part.axis(0, 1)});
    auto a = part.tensor<V, In>(1, {part.axis(1, 0), part.axis(1, 2), part.axis(1, 1)});
    auto q = part.tensor<V, In>(2, {part.axis(2, 2)});
    Call_apply_g_decomp_relative_to_full_q::call<V>(a, q, digits, bits, out);
  }
};

// take_along_axis(a, indices, axis, out): the axis is the last one, along which out and indices
// have one element. An index below 0 counts from the end.
template <class V, class T>
struct TakeAlongAxis
    : Sized<T, V, Call_take_along_axis, Ref<V, T>, Ref<V, int64_t>, int64_t&, Ref<V, T>> {
  static constexpr const char* kernel = "gather";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    auto out = part.tensor<V, T>(0, joined(part.axes(0), {1, 0}));
    auto a = part.tensor<V, T>(1, joined(part.axes(1), {part.param(1), part.param(0)}));
    auto indices = part.tensor<V, int64_t>(2, joined(part.axes(2), {1, 0}));
    int64_t axis = launch->rank;
    Call_take_along_axis::call<V>(a, indices, axis, out);
  }
};

// set_const_val(a, value).
template <class V, class T>
struct SetConstVal : Sized<T, V, Call_set_const_val, Ref<V, T>, T&> {
  static constexpr const char* kernel = "fill";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    auto a = part.tensor<V, T>(0, part.axes(0));
    T value = static_cast<T>(part.param(0));
    Call_set_const_val::call<V>(a, value);
  }
};

// contiguous(a, out): a copy.
template <class V, class T>
struct Contiguous : Sized<T, V, Call_contiguous, Ref<V, T>, Ref<V, T>> {
  static constexpr const char* kernel = "copy";
  static void run(const cw_launch* launch) {
    const Part part(launch);
    auto out = part.tensor<V, T>(0, part.axes(0));
    auto a = part.tensor<V, T>(1, part.axes(1));
    Call_contiguous::call<V>(a, out);
  }
};

// Rows of ops over one width of words.
template <class V, class T>
void add_width(RowList& list) {
  list.add<ModMul<V, T>>();
  list.add<ModSum<V, T>>();
  list.add<ModNeg<V, T>>();
  list.add<Mod<V, T>>();
  list.add<Abs<V, T>>();
  list.add<AxisModSum<V, T>>();
  list.add<ModMulAxisSum<V, T>>();
  list.add<Ntt<V, int8_t, T>>();
  list.add<Ntt<V, T, T>>();
  list.add<Intt<V, T>>();
  list.add<GDecomp<V, T, int8_t>>();
  list.add<GDecomp<V, T, T>>();
  list.add<GDecompFullQ<V, T, int8_t>>();
  list.add<GDecompFullQ<V, T, T>>();
}

// Rows of ops that move elements.
template <class V, class T>
void add_moves(RowList& list) {
  list.add<TakeAlongAxis<V, T>>();
  list.add<SetConstVal<V, T>>();
  list.add<Contiguous<V, T>>();
}

template <class V>
RowList rows_of() {
  RowList list;
  add_width<V, int32_t>(list);
  add_width<V, int64_t>(list);
  add_moves<V, int8_t>(list);
  add_moves<V, int32_t>(list);
  add_moves<V, int64_t>(list);
  return list;
}

template <class V>
cw_simple_chip chip_of(const char* name) {
  static const RowList list = rows_of<V>();
  const cw_simple_memory* memory = MemoryOf<V>::get();
  return {name, list.rows.data(), list.rows.size(), 1, 0, memory, nullptr, CW_SIMPLE_COSTS};
}

}  // namespace heal
}  // namespace cloakwork

// Exports a driver of one device with the functions of a struct.
#define CLOAKWORK_HEAL_DEVICE(driver_name, Vendor)                               \
  static const cw_simple_chip cloakwork_heal_chip =                              \
      ::cloakwork::heal::chip_of<Vendor>(driver_name);                           \
  static const cw_device_functions cloakwork_heal_functions = CW_SIMPLE_FUNCTIONS; \
  CW_SIMPLE_TABLE(cloakwork_heal_chip, cloakwork_heal_functions)

#endif  // CLOAKWORK_HEAL_OPS_HPP_
