; Threads forked and joined once, events declared, recorded once and where they belong, segments that
; nest in each thread.
registers
stream "s" at "gpu:0"
event "e"
event "g" at "gpu:0"
event "twice"
event "nobody waits"
event "never"
%x = host_to_device i64[2] {1, 2}
fork "t"
fork "t"
fork "nowhere"
record "e" on "s"
record "g"
record "twice"
record "twice"
record "unknown"
record "nobody waits"
wait "e"
wait "g"
wait "twice"
%y = empty [2], i64
copy %x, %y on "q"
free %y
segment_start "a"
segment_end
segment_end
join "u"
join "t"
thread "t" {
  wait "e"
}
thread "u" {
  join "u"
  wait "never"
  segment_start "open"
}
thread "lonely" {
}

; error: thread: V13 main/2: fork: expected the thread "t" forked once, got 2 times; fork a thread once, and join it once after the fork
; error: thread: V13 main/3: fork: expected the name of a declared thread, got "nowhere"; declare it, or correct the name
; error: event: V12 main/4: record: expected recorded on no stream, got on a stream of gpu:0; the event's declaration says where it happens
; error: event: V12 main/5: record: expected recorded on a stream of gpu:0, got on no stream; the event's declaration says where it happens
; error: event: V12 main/7: record: expected "twice" recorded once, got 2 times; events are one-shot: declare another
; error: event: V12 main/8: record: expected the name of a declared event, got "unknown"; declare it, or correct the name
; warning: event: V12 main/9: record: expected a wait for "nobody waits", got none; remove the unused event
; error: device: V08 main/14: copy: expected the name of a declared stream, got "q"; declare it, or correct the name
; error: segment: V20 main/18: expected an open segment, got none; remove the end, or begin a segment
; error: thread: V13 u/0: join: expected the thread "u" forked once, got never; fork a thread once, and join it once after the fork
; error: thread: V13 u/0: join: expected the thread "u" joined once, got 2 times; fork a thread once, and join it once after the fork
; error: thread: V13 u/0: join: expected a join by another thread, got its own; join it from the thread that forked it
; error: event: V12 u/1: wait: expected a record of "never" somewhere, got none; record it, or remove the wait
; error: thread: V13 u/2: expected the thread "lonely" forked once, got never; fork a thread once, and join it once after the fork
; error: thread: V13 u/2: expected the thread "lonely" joined once, got never; fork a thread once, and join it once after the fork
; error: segment: V20 u/2: expected an end of "open", got none; end the segment in its thread
