; A program that plans its memory itself: no two tensors in one place at the same time.
registers
stream "s" at "sim:0"
%a = empty [8], i64 at "sim:0" pool "p" 0
%b = empty [8], i64 at "sim:0" pool "p" 64
%c = empty [4], i64 at "sim:0" pool "p" 96
free %a
%d = empty [8], i64 at "sim:0" pool "p" 0
%e = empty [8], i64 at "sim:0" pool "q" 0
fork "t"
%f = empty [8], i64 at "sim:0" pool "p" 128
join "t"
free %b
free %c
free %d
free %e
free %f
thread "t" {
  %g = empty [1], i64 at "sim:0" pool "p" 160
  free %g
}

; error: pool: V16 main/2: empty (%c): expected free bytes 96 to 128 of the pool "p", got memory of main/1; choose another offset, or deallocate that memory first
; error: pool: V16 t/0: empty (%g): expected free bytes 160 to 168 of the pool "p", got memory of main/7; choose another offset, or deallocate that memory first
