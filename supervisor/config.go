package supervisor

import (
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/signals"
)

// Config is what the command line and the environment said.
type Config struct {
	Command           []string      // the worker and its arguments, at least one
	Env               []string      // the worker's
	Grace             time.Duration // 0 to a week, or Forever
	StopDelay         time.Duration // 0, or shorter than the grace
	StopSignals       []unix.Signal // besides TERM and INT
	Rewrites          signals.Rewrites
	Mode              forward.Mode
	Forking           bool        // a worker that exits 0 runs on in what it leaves
	RemapExit         []int       // statuses to report as 0
	ParentDeathSignal unix.Signal // 0: none
	WarnReaped        bool        // log each reaped orphan
	HealthAddr        health.Address
	TerminationLog    string // the file of the last message, absolute; empty: none
}
