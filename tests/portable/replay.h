// Launches of launches.h on rows of kernels, with operands from a fixed generator.
#ifndef CLOAKWORK_TESTS_PORTABLE_REPLAY_H_
#define CLOAKWORK_TESTS_PORTABLE_REPLAY_H_

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cloakwork/kernel.h"
#include "launches.h"

namespace {

// Where operands, results and prepared blocks lie: a program that includes this file may have them
// in memory that a device shares.
#ifndef CW_REPLAY_ALLOCATOR
#define CW_REPLAY_ALLOCATOR std::allocator
#endif
template <class T>
using Room = std::vector<T, CW_REPLAY_ALLOCATOR<T>>;

using Words = std::vector<int64_t>;

constexpr int64_t kModuli64[] = {1125899906826241, 2305843009218281473};
constexpr int64_t kModuli32[] = {2013265921, 998244353};
// Beyond what strides reach: digits, rows of results, words of numbers.
constexpr size_t kRoom = 512;

// splitmix64.
struct Random {
  uint64_t state;
  uint64_t Next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
};

struct Type {
  uint32_t dtype;
  size_t bytes;
};

size_t WordsOf(std::initializer_list<uint64_t> modulus) { return modulus.size(); }

// Bytes of a number that elements of fields and points consist of, and how many there are.
struct Parts {
  size_t bytes, count;
};

const std::map<uint32_t, Parts>& Elements() {
  static const std::map<uint32_t, Parts> elements = [] {
    std::map<uint32_t, Parts> found;
    std::map<std::string, size_t> fields;
#define CW_SIZE(name, dtype, bits, adicity, generator, ...) \
  fields[#name] = 8 * WordsOf({__VA_ARGS__});               \
  found[dtype] = {fields[#name], 1};
    CW_PRIMES_64(CW_SIZE)
    CW_PRIMES_GOLDILOCKS(CW_SIZE)
#undef CW_SIZE
#define CW_SIZE(name, dtype, bits, adicity, generator, modulus) \
  fields[#name] = 4;                                            \
  found[dtype] = {4, 1};
    CW_PRIMES_32(CW_SIZE)
#undef CW_SIZE
#define CW_SIZE(name, dtype, base, degree, nonresidue) found[dtype] = {fields[#base], degree};
    CW_EXTENSIONS(CW_SIZE)
#undef CW_SIZE
#define CW_SIZE(name, type, dtype, field, parts, scalars) \
  found[dtype] = {fields[#field], 2 * parts};
    CW_EACH_GROUP(CW_SIZE)
#undef CW_SIZE
    return found;
  }();
  return elements;
}

size_t SizeOf(uint32_t dtype) {
  static const size_t numbers[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16};
  if (dtype <= CW_C128) return numbers[dtype];
  const Parts parts = Elements().at(dtype);
  return parts.bytes * parts.count;
}

bool IsFloat(uint32_t dtype) { return dtype >= CW_F32 && dtype <= CW_C128; }

bool IsSingle(uint32_t dtype) { return dtype == CW_F32 || dtype == CW_C64; }

// A number with every kind of special value now and then.
double AnyFloat(Random& random) {
  static const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 0.5, 2.5, 1e30};
  const uint64_t word = random.Next();
  if (word % 5 == 0) return special[(word >> 8) % 10];
  return ((double)(word >> 11) / 9007199254740992.0 - 0.5) * 20;
}

// Elements of a field stay below its prime where the highest bits are clear.
void FillElements(unsigned char* at, size_t elements, Type type, Random& random) {
  for (size_t i = 0; i < elements; ++i, at += type.bytes) {
    if (IsFloat(type.dtype)) {
      const size_t part = IsSingle(type.dtype) ? 4 : 8;
      for (size_t j = 0; j < type.bytes; j += part) {
        const double value = AnyFloat(random);
        const float single = (float)value;
        memcpy(at + j, part == 4 ? (const void*)&single : &value, part);
      }
      continue;
    }
    for (size_t j = 0; j < type.bytes; j += 8) {
      uint64_t word = random.Next();
      if (type.dtype == CW_BOOL) word &= 1;
      if (type.dtype > CW_C128)
        word &= Elements().at(type.dtype).bytes == 4 ? 0x3fffffff3fffffff : 0x0fffffffffffffff;
      memcpy(at + j, &word, type.bytes - j < 8 ? type.bytes - j : 8);
    }
  }
}

// Words by rule: moduli, residues, small words, indices, permutations.
int64_t Word(char fill, int64_t below, size_t i, size_t bytes, Random& random) {
  const uint64_t any = random.Next();
  switch (fill) {
    case 'q':
      return bytes == 4 ? kModuli32[i % 2] : kModuli64[i % 2];
    case 'r':
      return (int64_t)(any >> (bytes == 4 ? 35 : 15));
    case 'k':
      return (int64_t)(any >> 36);
    case 'x':
      return (int64_t)(any % (uint64_t)below);
    default:  // 'p': odd multiples permute a power of two
      return (int64_t)(i * 5 + 3) % below;
  }
}

struct Operand {
  Type type = {CW_ANY, 0};
  Room<unsigned char> bytes;
  Words strides;
};

Words Numbers(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (int64_t word; in >> word;) words.push_back(word);
  return words;
}

Type TypeOf(char letter, const cw_kernel_row& row) {
  const uint32_t dtype = letter == 'i'   ? row.in_dtype
                         : letter == 'o' ? row.out_dtype
                         : letter == 'b' ? (uint32_t)CW_BOOL
                         : letter == 'h' ? (uint32_t)CW_I16
                         : letter == 'l' ? (uint32_t)CW_I64
                         : letter == 'u' ? (uint32_t)CW_U64
                                         : (uint32_t)CW_U8;
  return {dtype, dtype == CW_ANY ? row.element_bytes : SizeOf(dtype)};
}

Operand Made(const std::string& text, const Words& dims, const cw_kernel_row& row, Random& random) {
  std::istringstream in(text);
  std::string type, fill, rest;
  in >> type >> fill;
  std::getline(in, rest);
  Operand made;
  made.strides = type == "-" ? Words(dims.size(), 0) : Numbers(rest);
  if (type == "-") return made;
  made.type = TypeOf(type[0], row);
  size_t elements = kRoom;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    elements += (size_t)((dims[axis] - 1) * made.strides[axis]);
  made.bytes.resize(elements * made.type.bytes);
  if (fill == "e") {
    FillElements(made.bytes.data(), elements, made.type, random);
    return made;
  }
  const int64_t below = fill.size() > 1 ? atoll(fill.c_str() + 1) : 1;
  for (size_t i = 0; i < elements; ++i) {
    const int64_t word = Word(fill[0], below, i, made.type.bytes, random);
    memcpy(made.bytes.data() + i * made.type.bytes, &word, made.type.bytes);
  }
  return made;
}

using Block = Room<max_align_t>;

// How rows run: on this processor, or as the program that includes this file says.
struct Player {
  void (*prepare)(const cw_kernel_row& row, const cw_launch& launch, uint32_t params, void* memory);
  void (*run)(const cw_kernel_row& row, const cw_launch& launch, uint32_t params, uint64_t units);
  // A row of the player's by its kernel and the type of its result.
  const cw_kernel_row* (*find)(const char* kernel, uint32_t out_dtype);
};

void* Aligned(Block& block, uint64_t bytes) {
  block.resize(bytes / sizeof(max_align_t) + 8);
  return (void*)(((uintptr_t)block.data() + 63) & ~(uintptr_t)63);
}

// A launch with all that it points to.
struct Ready {
  const cw_kernel_row& row;
  const Player& player;
  bool prepares;
  Words dims, strides, params;
  std::vector<void*> data;
  std::vector<Block> blocks;
  std::vector<const void*> prepared;
  cw_launch launch;

  Ready(const cw_kernel_row& of, const Player& by)
      : row(of), player(by), prepares(of.prepared_bytes != nullptr) {}

  void Prepare(const std::vector<Operand>& operands) {
    launch = {(uint32_t)dims.size(), (uint32_t)data.size(), dims.data(), strides.data(),
              data.data(),           params.data(),         nullptr};
    if (!prepares) return;
    const size_t count = row.prepared_axis == 0 ? 1 : (size_t)dims[row.prepared_axis - 1];
    blocks.resize(count);
    for (size_t index = 0; index < count; ++index) prepared.push_back(One(operands, index));
    launch.prepared = row.prepared_axis == 0 ? prepared[0] : prepared.data();
  }

  // The constants of one index of the prepared axis: kernel.h says what that launch looks like.
  const void* One(const std::vector<Operand>& operands, size_t index) {
    Words own_dims = dims, own_strides = strides;
    std::vector<void*> own_data = data;
    const size_t rank = dims.size(), kept = row.prepared_axis;
    for (size_t axis = 0; axis < kept; ++axis) own_dims[axis] = 1;
    for (size_t at = 0; kept != 0 && at < data.size(); ++at) {
      const bool constant = (row.constant_operands >> at & 1) != 0;
      const int64_t step = strides[at * rank + kept - 1] * (int64_t)operands[at].type.bytes;
      if (constant && data[at] != nullptr) own_data[at] = (char*)data[at] + step * (int64_t)index;
      if (!constant) own_data[at] = nullptr;
      for (size_t axis = 0; axis < (constant ? kept : rank); ++axis)
        own_strides[at * rank + axis] = 0;
    }
    cw_launch own = launch;
    own.dims = own_dims.data(), own.strides = own_strides.data(), own.data = own_data.data();
    void* memory = Aligned(blocks[index], row.prepared_bytes(&own));
    player.prepare(row, own, (uint32_t)params.size(), memory);
    return memory;
  }
};

// FNV-1a of all bytes; what is not a number counts as one value, as machines differ in its bits.
uint64_t Digest(const Operand& result) {
  uint64_t hash = 0xcbf29ce484222325;
  const size_t part = !IsFloat(result.type.dtype) ? 1 : IsSingle(result.type.dtype) ? 4 : 8;
  for (size_t i = 0; i < result.bytes.size(); i += part) {
    unsigned char own[8];
    memcpy(own, result.bytes.data() + i, part);
    float single;
    double whole;
    memcpy(&single, own, part == 4 ? 4 : 0), memcpy(&whole, own, part == 8 ? 8 : 0);
    const bool is_nan = (part == 4 && single != single) || (part == 8 && whole != whole);
    for (size_t j = 0; j < part; ++j) hash = (hash ^ (is_nan ? 0xff : own[j])) * 0x100000001b3;
  }
  return hash;
}

// The result's numbers, in hexadecimal.
void Print(const Operand& result) {
  const size_t part = IsSingle(result.type.dtype) ? 4 : 8;
  for (size_t i = 0; i < result.bytes.size(); i += part) {
    float single = 0;
    double whole = 0;
    if (part == 4) memcpy(&single, result.bytes.data() + i, 4);
    if (part == 8) memcpy(&whole, result.bytes.data() + i, 8);
    printf(" %a", part == 4 ? (double)single : whole);
  }
  printf("\n");
}

// `read` stands where a shape says `=`.
Operand Replay(const Shape& shape, const cw_kernel_row& row, const Player& player,
               const Operand* read = nullptr) {
  Random random = {42};
  Ready ready(row, player);
  ready.dims = Numbers(shape.dims), ready.params = Numbers(shape.params);
  std::vector<Operand> operands;
  std::istringstream in(shape.operands);
  for (std::string text; std::getline(in, text, ';');) {
    operands.push_back(Made(text, ready.dims, row, random));
    if (text.find('=') != std::string::npos) operands.back().bytes = read->bytes;
  }
  for (Operand& one : operands) {
    ready.strides.insert(ready.strides.end(), one.strides.begin(), one.strides.end());
    ready.data.push_back(one.bytes.empty() ? nullptr : one.bytes.data());
  }
  ready.Prepare(operands);
  uint64_t units = 1;
  for (int axis = 0; axis < shape.split; ++axis) units *= (uint64_t)ready.dims[(size_t)axis];
  player.run(row, ready.launch, (uint32_t)ready.params.size(), units);
  return operands[0];
}

// What the player's own kernels read from the result of a row, where its form is private.
Operand Settled(const cw_kernel_row& row, const Player& player, const Operand& result) {
  for (const Reading& reading : kReadings) {
    if (strcmp(reading.kernel, row.kernel) != 0) continue;
    const cw_kernel_row* reader = player.find(reading.by.kernels, row.in_dtype);
    return Replay(reading.by, *reader, player, &result);
  }
  return result;
}

bool Names(const Shape& shape, const char* kernel) {
  std::istringstream in(shape.kernels);
  for (std::string name; in >> name;)
    if (name == kernel) return true;
  return false;
}

// Prints the launches of a row.
void Play(const cw_kernel_row& row, const Player& player, bool as_digest) {
  int launch = 0;
  for (const Shape& shape : kShapes) {
    if (!Names(shape, row.kernel)) continue;
    const Operand result = Settled(row, player, Replay(shape, row, player));
    printf("%s %d", row.symbol, ++launch);
    if (as_digest)
      printf(" %016llx\n", (unsigned long long)Digest(result));
    else
      Print(result);
  }
  if (launch == 0) printf("%s uncalled\n", row.symbol);
}

}  // namespace

#endif  // CLOAKWORK_TESTS_PORTABLE_REPLAY_H_
