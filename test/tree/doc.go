// Package tree tests what becomes of the processes below: which is signalled, killed, waited for and left.
//
// # Threads
//
// The Go runtime starts a thread when a goroutine is blocked in the kernel, and aborts if it gets none. So
// drainit makes it start all of them while there is room:
//
//   - the main thread, which forks and runs the loop, and the runtime's monitor;
//   - one that waits for signals, one that subscribes to them, and one from which new threads are started
//     while the main one is locked;
//   - one that runs, one for timers, and one for the log, which may block on a full pipe;
//   - four that may hang in reads of /proc; and, where they are asked for, one that answers probes and one
//     that asks whether the worker is ready;
//   - some to spare: a thread that is about to sleep cannot take new work yet. With two threads fewer, one
//     run in six started another thread beside busy loops. With one fewer, none of 800 did.
//
// So drainit has 14 threads at most, mostly 13, and one more for each of --health-addr and --ready-port, on a
// machine with room. A busy one adds some at the start: of 8,000 starts beside four builds none had more, but
// one start in a whole run of the tests had three. With the worker, a `pids.max` of 24 is enough for all
// (TestRoomForTheThreads). NoThreadIsStarted, and in test/stress TestSoak and FillsTheProcessTable, fail if
// there are more threads at the end than at the beginning, or if one is missing.
package tree
