; Threads that wait for each other: the shortest cycle is told.
registers
event "a"
event "b"
event "c"
event "d"
fork "t"
fork "u"
wait "a" label "main/first"
record "b"
join "t"
join "u"
thread "t" {
  wait "b"
  record "c"
  wait "c"
  record "a"
}
thread "u" {
  wait "a"
  record "d"
}

; error: deadlock: V14 main/first: wait: expected an order in which all can run, got a cycle: main/first waits for t/3; t/0 waits for main/3; remove or move one of these waits
; warning: event: V12 u/1: record: expected a wait for "d", got none; remove the unused event
