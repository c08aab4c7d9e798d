package supervisor

import (
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

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
	Mode              Mode
	Forking           bool           // a worker that exits 0 runs on in what it leaves
	RemapExit         []int          // statuses to report as 0
	ParentDeathSignal unix.Signal    // 0: none
	WarnReaped        bool           // log each reaped orphan
	HealthAddr        health.Address // of /healthz and /readyz; the zero one: none
	TerminationLog    string         // the file of the last message, absolute; empty: none
}

// Forever is a grace that never ends.
const Forever = time.Duration(1<<63 - 1)

// ParseGrace reads a grace: a duration, or "infinity" for Forever.
func ParseGrace(s string) (time.Duration, error) {
	if s == "infinity" {
		return Forever, nil
	}
	d, err := ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%w: takes 25s, 25 (seconds), 0 (kill at once) or infinity", err)
	}
	return d, nil
}

// ParseDuration reads "25s", "1m30s" (time.ParseDuration) or whole seconds,
// from 0 to a week.
func ParseDuration(s string) (time.Duration, error) {
	const week = 7 * 24 * time.Hour
	d, err := time.ParseDuration(s)
	if n, nerr := strconv.ParseUint(s, 10, 64); nerr == nil {
		d, err = time.Duration(min(n, uint64(week/time.Second)+1))*time.Second, nil
	}
	switch {
	case err != nil, d < 0:
		return 0, fmt.Errorf("%q is no duration", s)
	case d > week:
		return 0, fmt.Errorf("%q is more than a week (milliseconds meant?)", s)
	}
	return d, nil
}

// Mode is who gets a signal.
type Mode uint8

// The modes of --forward.
const (
	ModeAuto   Mode = iota // the first that catches it on each way down from the worker
	ModeGroup              // the worker's process group
	ModeWorker             // the worker alone
)

func (m Mode) String() string { return [...]string{"auto", "group", "worker"}[m] }

// ParseMode reads the name of a mode.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{ModeAuto, ModeGroup, ModeWorker} {
		if s == m.String() {
			return m, nil
		}
	}
	return ModeAuto, fmt.Errorf("%q: takes auto, group or worker", s)
}
