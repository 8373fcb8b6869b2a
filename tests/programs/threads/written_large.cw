; What is written is known at any size: half of a large buffer is not all of it, two halves are.
registers
%x = host_to_device input "x" i64[65537]
%a = empty [131074], i64
%even = get_slice %a, [0:131074:2]
copy %x, %even
%b = empty [131074], i64
%even_too = empty [65537], i64
copy %even, %even_too
copy %a, %b
%odd = get_slice %a, [1:131074:2]
%c = empty [131074], i64
%c0 = get_slice %c, [0:131074:2]
%c1 = get_slice %c, [1:131074:2]
copy %x, %c1
copy %x, %c0
copy %c, %b
forget %c0
forget %c1
forget %odd
forget %even
free %even_too
free %a
free %b
free %c
forget %x

; error: unwritten-read: V02 main/7: copy: `a` (%a): expected a tensor that was written, got element 1 (bytes 8 to 16), not written; write it first, or allocate it with zeros
