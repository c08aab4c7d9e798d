package supervisor

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Config has the settings from the command line and the environment.
type Config struct {
	Command           []string      // the worker and its arguments, at least one
	Env               []string      // the worker's
	Grace             time.Duration // 0 to a week, or machine.Forever
	Limit             time.Duration // the platform's, 0 for none (machine.Config)
	StopDelay         time.Duration // 0, or shorter than the grace
	StopSignals       []unix.Signal // besides TERM and INT
	Rewrites          signals.Rewrites
	Mode              forward.Mode
	Unsent            string      // with ModeNone: which setting asks for it, for the log
	SecondStopIgnored bool        // a repeated stop signal does not kill at once
	Forking           bool        // the worker daemonizes: the processes that it leaves do its work
	RemapExit         []int       // statuses to report as 0
	ParentDeathSignal unix.Signal // 0: none
	HealthAddr        health.Address
	ReadyPort         int      // of loopback: the phase is starting until it accepts; 0 for none
	Given             []string // each flag and variable that set one of these, for the log
	Warning           string   // about the worker's limit, to be logged
	Doubts            []string // about other settings, to be logged
}

// Delivered returns the signal that processes are sent when the signal came has come to drainit. came is 0 if
// the worker exited by itself.
func (c Config) Delivered(came unix.Signal) unix.Signal {
	return cmp.Or(c.Rewrites.Apply(cmp.Or(came, unix.SIGTERM)), unix.SIGTERM) // in place of signals.Drop
}

// forces reports whether a signal asks for a force-stop, as drainit stop --force does.
func (c Config) forces(sig unix.Signal) bool {
	_, rewritten := c.Rewrites[sig]
	return sig == signals.ForceStop && !rewritten
}

// Request returns the request to package forward for a signal, after the rewrite. left is the time to the
// kill. drainit status --plan builds its request here, too.
func (c Config) Request(p forward.Purpose, sig unix.Signal, tick uint64, left time.Duration) forward.Request {
	end := tick + uint64(max(0, left)/proc.Tick)
	return forward.Request{Purpose: p, Signal: sig, Mode: c.Mode, Tick: tick, EndAt: end}
}

// Adopted returns the stop signal that takes the place of the signal came. ok is false unless came can only
// be meant as the stop (forward.MeansStop). self is drainit's pid.
func (c Config) Adopted(self int, came unix.Signal, all *proc.Snapshot) (stop unix.Signal, ok bool) {
	_, rewritten := c.Rewrites[came]
	stop = c.Delivered(unix.SIGTERM)
	return stop, !rewritten && forward.MeansStop(self, came, stop, all)
}

// PlatformSignal returns the stop signal that the platform will send, as far as the settings say.
func (c Config) PlatformSignal() unix.Signal {
	for _, sig := range append(slices.Clone(c.StopSignals), unix.SIGTERM) {
		if c.Rewrites.Apply(sig) != signals.Drop {
			return sig
		}
	}
	return unix.SIGINT
}
