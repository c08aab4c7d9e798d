package supervisor

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/ready"
	"drainit/internal/signals"
)

// Config has the settings from the command line and the environment.
type Config struct {
	Command           []string      // the worker and its arguments, at least one
	Env               []string      // the worker's
	Grace             time.Duration // 0 to a week, or machine.Forever
	Limit             time.Duration // machine.Config's
	StopDelay         time.Duration // 0, or shorter than the grace
	StopSignals       []unix.Signal // besides TERM and INT
	Rewrites          signals.Rewrites
	Mode              forward.Mode
	Unsent            string      // by ModeNone: who says so, for the log
	SecondStopIgnored bool        // a repeated stop signal does not kill at once
	Forking           bool        // the worker daemonizes: the processes that it leaves do its work
	RemapExit         []int       // statuses to report as 0
	ParentDeathSignal unix.Signal // 0: none
	WarnReaped        bool        // log each reaped orphan
	HealthAddr        health.Address
	Ready             ready.Condition // the phase is starting until it holds
	TerminationLog    string          // the file of the last message, absolute; empty: none
	Given             []string        // each flag and variable that set one of these, for the log
	Warning           string          // about the worker's limit, to be logged
	Doubts            []string        // about other settings, to be logged

	stops []unix.Signal // all that begin the stop
}

// PlatformSignal is the stop signal that the platform will send, as far as the settings tell.
func (c Config) PlatformSignal() unix.Signal {
	for _, sig := range append(slices.Clone(c.StopSignals), unix.SIGTERM) {
		if c.Rewrites.Apply(sig) != signals.Drop {
			return sig
		}
	}
	return unix.SIGINT
}
