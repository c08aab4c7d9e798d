package supervisor

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/logx"
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

	stops []unix.Signal // all that begin the stop
}

// DefaultGrace is the grace where none is given.
const DefaultGrace = 30 * time.Second

// String is what differs from the default, as flags, for the log. The command is not in it.
func (c Config) String() string {
	var flags []string
	add := func(given bool, flag ...string) {
		if given {
			flags = append(flags, flag...)
		}
	}
	grace := c.Grace.String()
	if c.Grace == Forever {
		grace = "infinity"
	}
	add(c.Grace != DefaultGrace, "--grace", grace)
	add(c.StopDelay != 0, "--stop-delay", c.StopDelay.String())
	add(c.SecondStopIgnored, "--second-stop", "ignore")
	for _, sig := range c.StopSignals {
		add(true, "--stop-signal", signals.Name(sig))
	}
	for _, rule := range c.Rewrites.Rules() {
		add(true, "--rewrite", rule)
	}
	add(c.Mode != forward.ModeAuto, "--forward", c.Mode.String())
	add(c.Forking, "--forking")
	for _, status := range c.RemapExit {
		add(true, "--remap-exit", strconv.Itoa(status))
	}
	add(c.ParentDeathSignal != 0, "--parent-death-signal", signals.Name(c.ParentDeathSignal))
	add(c.WarnReaped, "--warn-reaped")
	add(c.HealthAddr.Given(), "--health-addr", c.HealthAddr.String())
	add(c.TerminationLog != logx.DefaultTerminationLog, "--termination-log="+c.TerminationLog)
	if len(flags) == 0 {
		return "the defaults"
	}
	return strings.Join(flags, " ")
}
