// Package stress tests drainit with a million orphans, system calls that fail, and nothing to lean on.
//
// TestFaults makes each system call of drainit and of its Go runtime fail once, by strace: at each place
// where the call is made, with each error that its manual names. The scenes are fourteen lives of a worker,
// as PID 1 and not: signals, orphans, a kill, a terminal, probes. A run makes some hundred faults;
// -faults.seed N chooses others. testdata/faults.md has the outcomes of ten runs of all 1,700, five of them
// on a busy machine. testdata/calls.md has every system call that drainit makes.
//
// TestSoak -soak sends a million orphans and a hundred thousand signals through one drainit.
package stress
