; Fork and join, events between threads, a stream of a device with copies both ways, a register
; with two lifetimes, a move, views: nothing is wrong, and the result is that of any order.
registers
stream "s" at "gpu:0"
event "there" at "gpu:0"
event "summed"
event "back" at "gpu:0"
%q = host_to_device i64[1] {17}
%x = host_to_device i64[4] {1, 2, 3, 4}
%d = empty [4], i64 at "gpu:0"
copy %x, %d on "s"
record "there" on "s"
fork "sums"
%y = empty [4], i64
wait "summed"
%r = empty [4], i64
_modsum_ttc %s, %x, 17, %r
join "sums"
free %s
move %r, %t
device_to_host %t, none -> i64[4] {3, 6, 9, 12}
free %t
wait "there"
%v = get_slice %d, [0:2:1]
copy %d, %y on "s"
record "back" on "s"
wait "back"
forget %v
device_to_host %y, none -> i64[4] {1, 2, 3, 4}
free %y
free %d
thread "sums" {
  %s = empty [4], i64
  _modsum_ttc %x, %x, 17, %s
  record "summed"
}

; type %q i64[1]
; type %x i64[4]
; type %d i64[4]
; type %y i64[4]
; type %s i64[4]
; type %r i64[4]
; type %v i64[2]
