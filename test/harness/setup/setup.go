// Package setup is what the harness and the worker that it runs agree upon.
package setup

// Setup is what a test asks of the surroundings of a drainit. It comes as JSON
// in the environment variable STAGE, which drainit does not get to see.
type Setup struct {
	Namespace   bool   // in fresh PID and mount namespaces: /proc is to be set up
	Proc        string // "": fresh, "none": unmounted, "foreign": that of another namespace
	ReadOnly    bool   // the root is mounted read-only
	Root        string // the folder that becomes the root, with a /proc and a /dev/null of its own
	UID         int    // become this user and group
	Docker      bool   // with the capabilities that Docker leaves to root
	MaxProcs    uint64 // RLIMIT_NPROC
	Ignore      []int  // signals ignored
	CloseStderr bool
	Hold        bool // stop after the exec, traced by the thread that forked
}
