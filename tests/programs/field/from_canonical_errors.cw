; A number that is not below the prime, a wrong count of words, and what is no field.
%w = host_to_device u64[2, 4] {7, 0, 0, 0, 4891460686036598785, 2896914383306846353, 13281191951274694749, 3486998266802970665}
%a = empty [2], bn254.fr
%b = from_canonical %w, bn254.fr, %a
%c = from_canonical %w, bls12_381.fq, %a
%d = from_canonical %w, i64, %a
%e = to_canonical %w, %w
free %w
free %a
