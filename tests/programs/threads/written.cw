; Of memory that is read whole only a part was written: in one thread, and by two.
registers
%x = host_to_device i64[4] {1, 2, 3, 4}
%a = empty [4], i64
%low = get_slice %a, [0:2:1]
%two = get_slice %x, [0:2:1]
copy %two, %low
%b = empty [4], i64
copy %a, %b
%e = empty [4], i64
%even = get_slice %e, [0:4:2]
copy %two, %even
fork "t"
join "t"
copy %e, %b
%f = empty [4], i64
fork "u"
%half = get_slice %f, [0:2:1]
copy %two, %half
join "u"
copy %f, %b
free %a
free %b
free %e
free %f
forget %x
thread "t" {
  %odd = get_slice %e, [1:2:2]
  %one = get_slice %x, [0:1:1]
  copy %one, %odd
}
thread "u" {
  %rest = get_slice %f, [2:4:1]
  %two_more = get_slice %x, [2:4:1]
  copy %two_more, %rest
}

; error: unwritten-read: V02 main/6: copy: `a` (%a): expected a tensor that was written, got elements 2 to 3 (bytes 16 to 32), not written; write it first, or allocate it with zeros
; error: unwritten-read: V02 main/12: copy: `a` (%e): expected a tensor that was written, got element 3 (bytes 24 to 32), not written; write it first, or allocate it with zeros
