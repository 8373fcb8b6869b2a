; Coefficients are below the prime; what takes an order, or one number an element, is refused.
%w = host_to_device u64[2, 4] {7, 0, 0, 0, 1, 2, 2013265921, 3}
%a = zeros [2], babybear.ext4
%n = zeros [2], babybear
%k = zeros [2], koalabear
%t = transcript_new 80
%o = empty [2], bool
%r1 = from_canonical %w, babybear.ext4, %a
%r2 = from_canonical %w, goldilocks.ext2, %a
%r3 = less %a, %a, %o
%r4 = astype %a, babybear, %n
%r5 = astype %k, babybear.ext4, %a
%r6 = add %a, %n, %a
%r7 = permute_input %a, 2, %a
%r8 = absorb %t, %a, %t
%r9 = challenge %t, 0, babybear.ext4, %a
%r10 = poseidon %a, %a
free %w
free %a
free %n
free %k
free %t
free %o

; error: element: step 6: from_canonical: `words` (%w): expected canonical numbers of babybear.ext4, below its prime, got element 1, which is not below the prime; reduce the number modulo the prime first
; error: shape: step 7: from_canonical: `words` (%w): expected a last axis of 2, the words of goldilocks.ext2, got [2, 4]
; error: dtype: step 8: less: `a` (%a): expected one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, any prime field, got babybear.ext4
; error: dtype: step 9: astype: `dtype`: expected integers, which are elements of a field, got babybear.ext4 as babybear; from_canonical and to_canonical go between fields and words
; error: dtype: step 10: astype: `dtype`: expected integers or babybear, which are elements of babybear.ext4, got koalabear as babybear.ext4; from_canonical and to_canonical go between fields and words
; error: dtype: step 11: add: `b` (%n): expected babybear.ext4, got babybear; all operands of this op have the same dtype
; error: dtype: step 12: permute_input: `a` (%a): expected any prime field, got babybear.ext4; elements of an extension have no order
; error: dtype: step 13: absorb: `value` (%a): expected bn254.fr or bls12_381.fr or goldilocks or babybear or pasta.fp or pasta.fq or koalabear or bn254.g1 or bls12_381.g1 or pallas.g1 or vesta.g1, got babybear.ext4
; error: dtype: step 14: challenge: `dtype`: expected any prime field, got babybear.ext4; elements of an extension have no order
; error: dtype: step 15: poseidon: `a` (%a): expected bn254.fr, got babybear.ext4
