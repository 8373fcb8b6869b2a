// A device in C++: HEAL's ops, one function each, as plain as they can be.
//
//   make                                  # libmychip.so
//   cloakwork run t.json --device ./libmychip.so
//
// The header calls each function with tensors of dims and strides, and lists the types that it
// takes. Delete a function, and the host does its work.
#include "cloakwork/heal_device.hpp"

#include <stdexcept>

using cloakwork::heal::DeviceTensor;

// Products of two words.
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

// The residue in [0, q).
template <class T>
T residue(wide value, T q) {
  const wide rest = value % q;
  return static_cast<T>(rest < 0 ? rest + q : rest);
}

// Element i of a vector of moduli for element i of a tensor: it lies along the last axis.
template <class T>
T modulus_of(const DeviceTensor<T>& p, const DeviceTensor<T>& out, int64_t i) {
  return p.at(p.dims[0] == 1 ? 0 : i % out.dims.back());
}

// An integer of so many words of 32 bits, the lowest first.
struct Number {
  std::vector<uint32_t> words;

  // this = this * factor + term
  void multiply_add(uint64_t factor, uint64_t term) {
    unsigned_wide carry = term;
    for (uint32_t& word : words) {
      carry += static_cast<unsigned_wide>(word) * factor;
      word = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }

  // Bits [first, first + count), count at most 64: they lie in three words.
  uint64_t bits(int64_t first, int64_t count) const {
    unsigned_wide value = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const size_t at = static_cast<size_t>(first / 32 + i);
      if (at < words.size()) value |= static_cast<unsigned_wide>(words[at]) << (32 * i);
    }
    return static_cast<uint64_t>((value >> (first % 32)) & ((unsigned_wide{1} << count) - 1));
  }
};

// a^-1 mod q by Euclid's algorithm; a and q share no factor.
template <class T>
T inverse(T a, T q) {
  wide r = q, next_r = residue<T>(a, q), t = 0, next_t = 1;
  while (next_r != 0) {
    const wide quotient = r / next_r;
    r = std::exchange(next_r, r - quotient * next_r);
    t = std::exchange(next_t, t - quotient * next_t);
  }
  return residue<T>(t, q);
}

struct MyChip {
  template <class T>
  static void modmul_ttt(const DeviceTensor<T>& a, const DeviceTensor<T>& b,
                         const DeviceTensor<T>& p, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      const wide product = static_cast<wide>(a.element(i)) * b.element(i);
      out.element(i) = static_cast<T>(product % modulus_of(p, out, i));
    }
  }

  template <class T>
  static void modsum_ttt(const DeviceTensor<T>& a, const DeviceTensor<T>& b,
                         const DeviceTensor<T>& p, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      const wide sum = static_cast<wide>(a.element(i)) + b.element(i);
      out.element(i) = static_cast<T>(sum % modulus_of(p, out, i));
    }
  }

  template <class T>
  static void mod_tt(const DeviceTensor<T>& a, const DeviceTensor<T>& b, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      out.element(i) = static_cast<T>(static_cast<wide>(a.element(i)) % b.element(i));
    }
  }

  template <class T>
  static void modneg_tt(const DeviceTensor<T>& a, const DeviceTensor<T>& p, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      out.element(i) = residue(-static_cast<wide>(a.element(i)), modulus_of(p, out, i));
    }
  }

  // The least word stays: its opposite has no room.
  template <class T>
  static void abs(const DeviceTensor<T>& a, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      const wide value = a.element(i);
      out.element(i) = static_cast<T>(value < 0 ? -value : value);
    }
  }

  template <class T>
  static void axis_modsum(const DeviceTensor<T>& a, int64_t axis, const DeviceTensor<T>& q,
                          DeviceTensor<T>& out) {
    if (axis != 0) throw std::invalid_argument("axis_modsum: expected axis 0");
    DeviceTensor<T> row = a;
    row.dims.erase(row.dims.begin());
    row.strides.erase(row.strides.begin());
    for (int64_t i = 0; i < out.numel(); ++i) {
      wide sum = 0;
      for (int64_t s = 0; s < a.dims[0]; ++s) {
        sum = (sum + (&row.element(i))[s * a.strides[0]]) % modulus_of(q, out, i);
      }
      out.element(i) = static_cast<T>(sum);
    }
  }

  template <class T>
  static void modmul_axis_sum(const DeviceTensor<T>& a, const DeviceTensor<T>& b,
                              const DeviceTensor<T>& q, const DeviceTensor<int64_t>& perm,
                              DeviceTensor<T>& out, bool apply_perm, int64_t axis) {
    if (axis != -1) throw std::invalid_argument("modmul_axis_sum: expected axis -1");
    for (int64_t r = 0; r < out.dims[0]; ++r) {
      for (int64_t k = 0; k < out.dims[1]; ++k) {
        for (int64_t n = 0; n < out.dims[2]; ++n) {
          const int64_t place = apply_perm ? perm.at(n) : n;
          T sum = residue<T>(out.at(r, k, place), q.at(k));
          for (int64_t s = 0; s < a.dims[1]; ++s) {
            const wide product = static_cast<wide>(a.at(r, s, k, n)) * b.at(s, k, place);
            sum = residue<T>(sum + product % q.at(k), q.at(k));
          }
          out.at(r, k, place) = sum;
        }
      }
    }
  }

  // Cooley-Tukey: natural order in, bit-reversed order before the permutation.
  template <class In, class T>
  static void ntt(const DeviceTensor<In>& a, int64_t axis, const DeviceTensor<int64_t>& perm,
                  const DeviceTensor<T>& q, const DeviceTensor<T>& psi, DeviceTensor<T>& out,
                  bool tile, bool skip_perm) {
    if (axis != -3) throw std::invalid_argument("ntt: expected axis -3");
    each_row(out, [&](int64_t l, int64_t r, int64_t k) {
      const int64_t m = out.dims[1];
      std::vector<T> row(m);
      for (int64_t i = 0; i < m; ++i) row[i] = residue<T>(a.at(l, i, r, tile ? 0 : k), q.at(k));
      for (int64_t groups = 1, half = m / 2; groups < m; groups *= 2, half /= 2) {
        for (int64_t i = 0; i < m; ++i) {
          if (i / half % 2 == 1) continue;
          const T twiddle = psi.at(k, groups + i / half / 2);
          const wide product = static_cast<wide>(row[i + half]) * twiddle % q.at(k);
          row[i + half] = residue<T>(row[i] - product, q.at(k));
          row[i] = residue<T>(row[i] + product, q.at(k));
        }
      }
      for (int64_t u = 0; u < m; ++u) out.at(l, u, r, k) = row[skip_perm ? u : perm.at(u)];
    });
  }

  // Gentleman-Sande, on the permuted row.
  template <class T>
  static void intt(const DeviceTensor<T>& a, const DeviceTensor<int64_t>& perm,
                   const DeviceTensor<T>& q, const DeviceTensor<T>& psi_inv,
                   const DeviceTensor<T>& n_inv, DeviceTensor<T>& out, bool skip_perm) {
    each_row(out, [&](int64_t l, int64_t r, int64_t k) {
      const int64_t m = out.dims[1];
      std::vector<T> row(m);
      for (int64_t u = 0; u < m; ++u) {
        row[u] = residue<T>(a.at(l, skip_perm ? u : perm.at(u), r, k), q.at(k));
      }
      for (int64_t groups = m / 2, half = 1; half < m; groups /= 2, half *= 2) {
        for (int64_t i = 0; i < m; ++i) {
          if (i / half % 2 == 1) continue;
          const T twiddle = psi_inv.at(k, groups + i / half / 2);
          const wide difference = static_cast<wide>(row[i]) - row[i + half];
          row[i] = residue<T>(static_cast<wide>(row[i]) + row[i + half], q.at(k));
          row[i + half] = residue<T>(residue<T>(difference, q.at(k)) * static_cast<wide>(twiddle),
                                     q.at(k));
        }
      }
      for (int64_t i = 0; i < m; ++i) {
        out.at(l, i, r, k) = residue<T>(static_cast<wide>(row[i]) * n_inv.at(k), q.at(k));
      }
    });
  }

  template <class In, class T>
  static void apply_g_decomp(const DeviceTensor<In>& a, int64_t g_exp, int64_t g_base_bits,
                             DeviceTensor<T>& out) {
    const int64_t step = out.strides.back();
    for (int64_t i = 0; i < a.numel(); ++i) {
      const wide value = a.element(i);
      T* digits = &out.element(i * g_exp);
      for (int64_t j = 0; j < g_exp; ++j) {
        const int64_t shift = j * g_base_bits < 127 ? j * g_base_bits : 127;
        digits[j * step] = static_cast<T>((value >> shift) & ((wide{1} << g_base_bits) - 1));
      }
    }
  }

  // Garner's algorithm: the number from its residues, then its digits.
  template <class In, class T>
  static void apply_g_decomp_relative_to_full_q(const DeviceTensor<In>& a,
                                                const DeviceTensor<In>& q, int64_t g_exp,
                                                int64_t g_base_bits, DeviceTensor<T>& out) {
    const int64_t moduli = q.dims[0];
    for (int64_t x = 0; x < a.dims[0]; ++x) {
      for (int64_t y = 0; y < a.dims[2]; ++y) {
        std::vector<In> mixed(moduli);  // x = mixed[0] + q[0] (mixed[1] + q[1] (...))
        for (int64_t i = 0; i < moduli; ++i) {
          In value = residue<In>(a.at(x, i, y), q.at(i));
          for (int64_t j = 0; j < i; ++j) {
            const In difference = residue<In>(static_cast<wide>(value) - mixed[j], q.at(i));
            const wide product = static_cast<wide>(difference) * inverse<In>(q.at(j), q.at(i));
            value = residue<In>(product, q.at(i));
          }
          mixed[i] = value;
        }
        Number number{std::vector<uint32_t>(2 * moduli)};
        for (int64_t i = moduli; i-- > 0;) number.multiply_add(q.at(i), mixed[i]);
        for (int64_t j = 0; j < g_exp; ++j) {
          out.at(x, j, y) = static_cast<T>(number.bits(j * g_base_bits, g_base_bits));
        }
      }
    }
  }

  template <class T>
  static void take_along_axis(const DeviceTensor<T>& a, const DeviceTensor<int64_t>& indices,
                              int64_t axis, DeviceTensor<T>& out) {
    const int64_t size = a.dims[axis];
    DeviceTensor<T> first = a;
    first.dims[axis] = 1;
    for (int64_t i = 0; i < out.numel(); ++i) {
      const int64_t index = indices.element(i);
      out.element(i) = (&first.element(i))[(index < 0 ? index + size : index) * a.strides[axis]];
    }
  }

  template <class T>
  static void set_const_val(DeviceTensor<T>& a, T value) {
    for (int64_t i = 0; i < a.numel(); ++i) a.element(i) = value;
  }

  template <class T>
  static void contiguous(const DeviceTensor<T>& a, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) out.element(i) = a.element(i);
  }

 private:
  // Calls f for the rows of a transform: tensors [l, m, r, k].
  template <class T, class F>
  static void each_row(const DeviceTensor<T>& out, const F& f) {
    for (int64_t l = 0; l < out.dims[0]; ++l) {
      for (int64_t r = 0; r < out.dims[2]; ++r) {
        for (int64_t k = 0; k < out.dims[3]; ++k) f(l, r, k);
      }
    }
  }
};

CLOAKWORK_HEAL_DEVICE("mychip", MyChip)
