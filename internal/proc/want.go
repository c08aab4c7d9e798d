package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

// Want is what a snapshot is to hold. Of each process it has the stat; what costs more
// is read of those only that are named here, which is to read them closely.
type Want struct {
	// Only is the one process to be read, with its program if Program says so; 0 for all.
	Only    int
	Program bool
	// Place has the working directory and the user of Only read, too.
	Place bool
	// These are the only processes to be read, closely and with the program; nil for all. Of
	// those that are shells it is asked whether they wait for a child at all.
	These []int
	// EnoughIf is a process that is enough by itself if it handles the first of Signals:
	// then no other is in the snapshot. 0 for none.
	EnoughIf int

	// Parents has all below this process read closely that are its children or have
	// children; 0 for none. Programs are read of these.
	Parents int
	// Chain has the end of an unbranched line of processes, which begins below this one,
	// read closely with the program; 0 for none.
	Chain int
	// Nearest has each way down from this process read closely as far as the first
	// process that handles the first of Signals; drainit's own pid stands for each of its
	// children. 0 for none.
	Nearest int
	// Group has the members of this process group read closely; 0 for none.
	Group int

	// All has every process below these pids read closely, if it is below Parents too.
	All []int

	// Signals are those of which it is asked, of a process that is read closely, whether
	// it waits for them without a handler. To ask one that seems to takes a millisecond,
	// and all of them together not longer than Until, but for those that no processor is
	// given to: they have a second more.
	Signals []unix.Signal
	Until   time.Time

	// ReadsPipe has it found out which others write to a pipe that is the standard input
	// of the processes for which it is true; nil for none.
	ReadsPipe func(Process) bool
	// Shells are those of which it is asked whether they wait for a child in the
	// foreground, and where their stack is; with Evidence the latter alone.
	Shells []int
	// Environment has the environment read of those of the processes with a program for
	// which it is true; nil for none.
	Environment func(Process) bool

	// Settled is true of those of which the stat is enough where they have no children,
	// though they are below Parents; nil for none.
	Settled func(ID) bool

	// Evidence are those of which evidence is read, and nothing else of any process, the
	// first first, not longer than Until; nil for none. They are those of a snapshot.
	Evidence []*Process
	// Prove are those of which it is asked whether they have received no signal since
	// their evidence was read.
	Prove map[ID]Evidence
	// Asleep are those of which it is asked, before that, whether they sleep.
	Asleep []int
}
