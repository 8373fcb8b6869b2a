; Names and segments in quotes, nested segments, lists over lines, every kind of literal.
segment "up \"load\"" {
  %"a b" = host_to_device i64[2,
    2] {1, 2,
        3, 4}
  segment "inner" { skip }
}
%85 = host_to_device u8[3, 4] fortran iota
%86 = host_to_device bool[3] {0, 1, 1}
%87 = "host_to_device" f32[2] {1.5, 0x7f800000}
device_to_host %85, none -> u8[3, 4] iota
device_to_host %"a b", none -> i64[2, 2] {1, 2, 3, 4}
device_to_host %87, none -> f32[2] {1.5, 0x7f800000}
free %"a b"
free %85
free %86
free %87

; type %a b i64[2, 2]
; type %85 u8[3, 4] strides [1, 3] offset 0
; type %86 bool[3]
; type %87 f32[2]
