package forward

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// relay is to which processes a program passes a stop signal on, if that is known.
type relay uint8

const (
	noRelay      relay = iota
	relayToChild       // the one that it has started
	relayToGroup       // the process group of that
)

// relayOf knows a relay by its executable file, and by what it was asked to do. A script is
// none, for its executable is the interpreter.
func relayOf(p *proc.Process) relay {
	group := false
	switch p.Exe {
	case "timeout":
		group = !hasOption(p.Args, "ks", "-f", "--foreground")
	case "dumb-init":
		group = !hasOption(p.Args, "r", "-c", "--single-child") && environment(p, "DUMB_INIT_SETSID") != "0"
	case "tini", "tini-static", "docker-init":
		group = hasOption(p.Args, "pe", "-g") || environment(p, "TINI_KILL_PROCESS_GROUP") != ""
	case "catatonit":
		group = hasOption(p.Args, "", "-g")
	case "su", "runuser", "script", "runsv", "s6-supervise":
	default:
		return noRelay
	}
	if group {
		return relayToGroup
	}
	return relayToChild
}

// readsEnvironment are the relays of which the environment says what they do.
var readsEnvironment = []string{"dumb-init", "tini", "tini-static", "docker-init"}

// hasOption reports whether one of these options stands before the command. A short one
// may stand in a cluster, as in -sg; with are the short ones that take a value.
func hasOption(args []string, with string, options ...string) bool {
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--", !strings.HasPrefix(arg, "-"), arg == "-":
			return false
		case slices.Contains(options, arg):
			return true
		case strings.HasPrefix(arg, "--"):
			continue
		}
		for n, letter := range arg[1:] {
			if slices.Contains(options, "-"+string(letter)) {
				return true
			}
			if strings.ContainsRune(with, letter) { // the rest of it is the value, or the next argument
				if n == len(arg)-2 {
					i++
				}
				break
			}
		}
	}
	return false
}

// environment is the value of a variable, "" where it is not set or can't be read.
func environment(p *proc.Process, name string) string {
	for _, v := range p.Surroundings().Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// relaySignalledGroup reports whether a relay above an orphan, which the stop has reached,
// has signalled the orphan's process group.
func (l *Ledger) relaySignalledGroup(o *orphan) bool {
	if o.notified == nil || !l.survives(o) {
		return false
	}
	below := o.record // the relay's child on the way to the orphan
	for up := range l.upFrom(o.parent) {
		if up.relay == relayToGroup && below.PGID == o.PGID && (up.sent == nil || up.sent.handled) {
			return true
		}
		if up == o.notified {
			return false
		}
		below = up
	}
	return false
}

// anotherSignalledParent reports whether a process that passes the stop on may have
// signalled the orphan's group when it signalled its parent. A shell and a launcher
// signal none, and of a relay it is known which.
func (l *Ledger) anotherSignalledParent(o *orphan) bool {
	if o.notified == nil || o.parent.sent != nil || !o.notified.sent.handled || !l.survives(o) {
		return false
	}
	sender := o.notified
	// What died of it has signalled none, and neither has a launcher that was signalled.
	for up := range l.upFrom(l.records[o.parent.parent]) {
		handles := up.handledIt(o.passed) || up.handledIt(unix.SIGTERM) // in place of which it may be sent
		if up == o.notified || up.relay != noRelay || handles && up.program != Launcher {
			sender = up
			break
		}
	}
	return sender.program == Other && sender.relay == noRelay && !o.parent.handledIt(o.passed)
}

// survives reports whether an orphan would live on with what another can have sent it: if
// not, that it lives shows that it was sent nothing. One that blocks the signal may have
// taken it in sigwait, and be busy with it now.
func (l *Ledger) survives(o *orphan) bool {
	sent := signals.SetOf(o.passed, l.signalFor(o.record))
	return o.NestedInit || (o.handled|o.Ignored|o.Blocked|o.Pending)&sent != 0
}
