// Command bench measures drainit beside its peers, those of tini, tini-static, dumb-init and catatonit that
// are installed, and beside no init at all and a minimal one in Go, which only forks, passes each signal on
// and waits. It builds drainit as it is released and prints one table, in about eight minutes:
//
//	go run ./test/cmd/bench
//
// On a shared machine a time is good for no more than a ratio to one that was taken in the same seconds. So
// all inits take turns in every round, and each ratio comes with its range over ten parts of the run. What
// drainit aims at is in the last column; where it misses an aim by more than a third, the exit status is 1.
// results.md has one run.
//
// To see what a change is worth, build the drainit before it, and run both:
//
//	go run ./test/cmd/bench -beside /tmp/drainit-before -only starts,running
//
// # What the figures mean
//
// Start. minimal Go is the share of the Go runtime; most of that is the subscription to each signal. drainit
// subscribes only to the signals that matter before the worker starts. It starts the threads that it needs
// later, so that a worker that fills the process table at once does not end PID 1: 0.6 ms. The runtime uses
// one processor: with two, each hand-over wakes a thread that looks in vain for work, which costs a twentieth
// of the start.
//
// A signal. A handler in Go hands the signal to a goroutine, which wakes the loop on the main thread. drainit
// then reads in /proc whether the worker handles the signal, on another thread, because the read of a process
// that hangs does not return. A stop signal takes some 30 µs longer for each process below drainit: a process
// that has died of the signal cannot be read any more, so drainit reads them all first.
//
// A CPU limit of 50m with 200 processes: a stop takes some 5 ms of processor time, which is the limit's whole
// share of 100 ms. So the time depends on how much of the share is left when the signal comes: seventeen runs
// of -only cramped gave 12 ms to 0.30 s. A subcommand under a limit of 10m takes half a second as a rule,
// mostly its own start.
//
// A stop of 1,000 processes whose worker signals none. Under drainit all 999 jobs end well. Under the peers
// the kernel kills them when the init exits, which is quicker. A thousand such processes take 0.15 s to 0.2 s
// on both processors to handle the signal and to exit, under any init that signals them. The smallest init in
// Go that reads nothing, signals the worker's group and waits for all took 1.6 × as long as the quickest
// peer; one in C 1.3 to 1.4 × as long as tini.
//
// A drain costs one snapshot before the stop signal, one after each death of a parent, and one for each line
// of progress. While nothing happens, snapshots take at most a fortieth of the time.
//
// Memory. Most of the 4 MB is the program file, which the kernel maps in pieces of 64 kB, and which all
// containers share. For each process below, drainit has the history of the stop and a snapshot: with 10,000
// some 17 MB.
//
// Runtime. In the column of no init runc is called by itself, and in drainit's by way of drainit-runtime: a
// call takes the start of another Go program longer, and a container's start that and drainit's own.
//
// # Tried without success
//
// For a signal's way:
//   - the loop off the main thread: 5 to 12 % quicker, as long as the loop waited on channels. But the title
//     is the name of the main thread, which another thread can change only through /proc.
//
// For the start:
//   - no read of the cgroup by the runtime (containermaxprocs=0); a large stack from the beginning; the
//     start's threads alone on one processor; the threads started beside the subscriptions: within the noise,
//     or slower.
//   - the main thread on one processor and the runtime's on another: each hand-over to a sleeping processor
//     costs the saved time.
//   - subscriptions on the main thread, which is locked: 0.3 ms slower.
//   - four subscriptions before the worker, not eleven: 3 % quicker, but a signal of the worker could be
//     lost.
//
// For a stop of 1,000:
//   - no snapshot after deaths that leave nothing to signal, and kill in place of a pidfd for drainit's own
//     children; two of the runtime's processors for all of the stop; a raw wait4(2); waiting in batches of a
//     millisecond: within the noise.
//   - the snapshot by two threads, half of it each: 30.8 ms instead of 31.4 ms to the worker's handler.
//   - system calls that the Go runtime does not know of: that stop a tenth quicker, and a stop signal's way a
//     twentieth. But a call that hangs would stop all of drainit.
//   - no snapshot after the worker's death, if no process has come since the last one: 4 % quicker, but
//     drainit could miss a process that is just being forked.
//
// For the memory:
//   - a garbage collection after the start (debug.FreeOSMemory): 0.2 MB more, for its workers.
package main
