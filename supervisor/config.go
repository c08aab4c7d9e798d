package supervisor

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/machine"
	"drainit/internal/signals"
)

// Forever is a grace that never ends.
const Forever = machine.Forever

// Config is what the command line and the environment said.
type Config struct {
	Command           []string      // the worker and its arguments, at least one
	Env               []string      // the worker's
	Grace             time.Duration // 0 to a week, or Forever
	StopDelay         time.Duration // 0, or shorter than the grace
	StopSignals       []unix.Signal // besides TERM and INT
	Rewrites          signals.Rewrites
	Mode              forward.Mode
	SecondStopIgnored bool        // a repeated stop signal is no force-stop
	Forking           bool        // a worker that exits 0 runs on in what it leaves
	RemapExit         []int       // statuses to report as 0
	ParentDeathSignal unix.Signal // 0: none
	WarnReaped        bool        // log each reaped orphan
	HealthAddr        health.Address
	TerminationLog    string // the file of the last message, absolute; empty: none
	Hint              string // ends the line that says that the command is not in PATH

	stops []unix.Signal // all that begin the stop
}

// String is all of it but for the command, for the log.
func (c Config) String() string {
	parentDeath, address, report, grace, second := "nothing", "off", "off", c.Grace.String(), "force"
	if c.ParentDeathSignal != 0 {
		parentDeath = signals.Name(c.ParentDeathSignal)
	}
	if c.HealthAddr.Given() {
		address = c.HealthAddr.String()
	}
	if c.TerminationLog != "" {
		report = c.TerminationLog
	}
	if c.Grace == Forever {
		grace = "infinity"
	}
	if c.SecondStopIgnored {
		second = "ignore"
	}
	return fmt.Sprintf("grace %s, stop delay %v, second stop %s, also stopped by %v, rewrites [%v], forward %s, forking %v, exit statuses reported as 0 %v, sent %s when the parent dies, reaped orphans logged %v, health address %s, termination log %s",
		grace, c.StopDelay, second, signals.Names(c.StopSignals), c.Rewrites, c.Mode, c.Forking, c.RemapExit, parentDeath, c.WarnReaped, address, report)
}
