; Two threads write the same bytes, one writes what another reads, a stream and its thread meet in
; the same memory: each in no sure order. Apart, or in a sure order, is well.
registers
stream "s" at "gpu:0"
event "e" at "gpu:0"
%x = host_to_device i64[4] {1, 2, 3, 4}
%a = empty [4], i64
%low = get_slice %a, [0:2:1]
%high = get_slice %a, [2:4:1]
%b = empty [4], i64
%g = empty [4], i64 at "gpu:0"
%h = empty [4], i64
fork "t"
fork "u"
copy %x, %b
copy %x, %g on "s"
copy %g, %h on "s"
copy %x, %h
record "e" on "s"
wait "e"
join "t"
join "u"
free %a
free %b
free %g
free %h
thread "t" {
  %half = get_slice %x, [0:2:1]
  copy %half, %low
  copy %x, %b
}
thread "u" {
  %part = get_slice %x, [0:2:1]
  copy %part, %high
  %odd = get_slice %a, [1:4:2]
  copy %part, %odd
}

; error: race: V15 main/12: copy (%h): expected ordered accesses to the same bytes, got main/11 writes and main/12 writes elements 0 to 3 (bytes 0 to 32) of %h in any order; order them by an event, a join, or one thread
; error: race: V15 t/2: copy (%b): expected ordered accesses to the same bytes, got main/9 writes and t/2 writes elements 0 to 3 (bytes 0 to 32) of %b in any order; order them by an event, a join, or one thread
; error: race: V15 u/3: copy (%odd): expected ordered accesses to the same bytes, got t/1 writes and u/3 writes element 1 (bytes 8 to 16) of %a in any order; order them by an event, a join, or one thread
