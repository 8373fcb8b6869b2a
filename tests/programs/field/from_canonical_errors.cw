; A number that is not below the prime, a wrong count of words, and what is no field.
%w = host_to_device u64[2, 4] {7, 0, 0, 0, 4891460686036598785, 2896914383306846353, 13281191951274694749, 3486998266802970665}
%a = empty [2], bn254.fr
%b = from_canonical %w, bn254.fr, %a
%c = from_canonical %w, bls12_381.fq, %a
%d = from_canonical %w, i64, %a
%e = to_canonical %w, %w
free %w
free %a

; error: element: step 2: from_canonical: `words` (%w): expected canonical numbers of bn254.fr, below its prime, got element 1, which is not below the prime; reduce the number modulo the prime first
; error: shape: step 3: from_canonical: `words` (%w): expected a last axis of 6, the words of bls12_381.fq, got [2, 4]
; error: dtype: step 4: from_canonical: `dtype`: expected a field or the points of a curve, got i64
; error: dtype: step 5: to_canonical: `a` (%w): expected a field or the points of a curve, got u64
