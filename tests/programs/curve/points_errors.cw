; Data of a program is held to its dtype: a coordinate at the prime, a point off the curve.
%a = host_to_device bn254.g1[2] {0, 0, 0, 0, 0, 0, 0, 0, 4332616871279656263, 10917124144477883021, 13281191951274694749, 3486998266802970665, 0, 0, 0, 0}
%b = host_to_device bn254.g1[2] {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}
%c = host_to_device goldilocks[3] {0, 1, 18446744073709551615}
%d = host_to_device bn254.g1[1] {0, 0, 0, 0, 0, 0, 0, 0}
%w = host_to_device u64[2, 8] {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0}
%p = empty [2], bn254.g1
%e = from_canonical %w, bn254.g1, %p
free %w
free %p
free %d

; error: element: step 0: host_to_device: expected points of bn254.g1: on the curve, in the group of prime order, and reduced, got element 1, which has a coordinate that is not below the prime; reduce the number modulo the prime first
; error: element: step 1: host_to_device: expected points of bn254.g1: on the curve, in the group of prime order, and reduced, got element 1, which is not on the curve; do not use it: products with such a point reveal the scalar
; error: element: step 2: host_to_device: expected canonical numbers of goldilocks, below its prime, got element 2, which is not below the prime; reduce the number modulo the prime first
; error: element: step 6: from_canonical: `words` (%w): expected points of bn254.g1: on the curve, in the group of prime order, and reduced, got element 1, which is not on the curve; do not use it: products with such a point reveal the scalar
