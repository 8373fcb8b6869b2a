// Unsigned keys in the order of elements.
#ifndef CLOAKWORK_KERNELS_SORTING_KEYS_H_
#define CLOAKWORK_KERNELS_SORTING_KEYS_H_

#include "kernels/common.h"

namespace cw {
namespace {

// ToKey and FromKey are inverse; for floats, on all numbers but NaN, -0.0 before 0.0.
template <class T, class Key_>
struct UnsignedKey {
  using Key = Key_;
  static constexpr bool kIsFloat = false;
  static CW_INLINE Key ToKey(T x) { return (Key)x; }
  static CW_INLINE T FromKey(Key key) { return (T)key; }
  static CW_INLINE bool IsNan(T) { return false; }
};

template <class T, class Key_>
struct SignedKey {
  using Key = Key_;
  static constexpr bool kIsFloat = false;
  static constexpr Key kSign = (Key)1 << (8 * sizeof(Key) - 1);
  static CW_INLINE Key ToKey(T x) { return (Key)((Key)x ^ kSign); }
  static CW_INLINE T FromKey(Key key) { return (T)(key ^ kSign); }
  static CW_INLINE bool IsNan(T) { return false; }
};

// Negative numbers in reverse, below the others.
template <class T, class Key_>
struct FloatKey {
  using Key = Key_;
  static constexpr bool kIsFloat = true;
  static constexpr Key kSign = (Key)1 << (8 * sizeof(Key) - 1);
  static constexpr Key kNegativeZero = kSign - 1;
  static CW_INLINE Key ToKey(T x) {
    Key bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
  static CW_INLINE T FromKey(Key key) {
    const Key bits = (key & kSign) != 0 ? key ^ kSign : ~key;
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  static CW_INLINE bool IsNan(T x) { return x != x; }
};

template <class T>
struct KeyOf;
template <>
struct KeyOf<uint8_t> : UnsignedKey<uint8_t, uint8_t> {};
template <>
struct KeyOf<uint16_t> : UnsignedKey<uint16_t, uint16_t> {};
template <>
struct KeyOf<uint32_t> : UnsignedKey<uint32_t, uint32_t> {};
template <>
struct KeyOf<uint64_t> : UnsignedKey<uint64_t, uint64_t> {};
template <>
struct KeyOf<int8_t> : SignedKey<int8_t, uint8_t> {};
template <>
struct KeyOf<int16_t> : SignedKey<int16_t, uint16_t> {};
template <>
struct KeyOf<int32_t> : SignedKey<int32_t, uint32_t> {};
template <>
struct KeyOf<int64_t> : SignedKey<int64_t, uint64_t> {};
template <>
struct KeyOf<float> : FloatKey<float, uint32_t> {};
template <>
struct KeyOf<double> : FloatKey<double, uint64_t> {};
template <>
struct KeyOf<Bool> {
  using Key = uint8_t;
  static constexpr bool kIsFloat = false;
  static CW_INLINE Key ToKey(Bool x) { return x.bit != 0; }
  static CW_INLINE Bool FromKey(Key key) { return {key}; }
  static CW_INLINE bool IsNan(Bool) { return false; }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SORTING_KEYS_H_
