package stress

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// statuses are those that the round may have ended with, and why.
func (m *chaosModel) statuses() map[int]string {
	may := make(map[int]string)
	worker := m.worker()
	if m.mayKill() {
		may[137] = "killed in the end"
	}
	if worker.ends > 0 {
		may[worker.how] = "it said so"
	} else {
		for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
			if m.mayTell(sig) && m.does(worker, sig) == "" {
				may[128+int(sig)] = "signalled, and does not handle it"
			}
		}
		if m.mayDieOfHUP() {
			may[128+int(unix.SIGHUP)] = "passed on, and does not handle it"
		}
	}
	if m.plan.shell {
		m.addShell(may)
	}
	if _, asked := m.firstStop(); asked && m.mayKill() && has(may, 0) {
		may[137] = "something was killed"
		if m.surelyKilled() && m.plan.mode != "worker" { // which ends with its worker
			delete(may, 0)
		}
	}
	return may
}

// addShell adds what a shell above the first process may make of it: it dies of
// TERM, which every stop signal is for it, and the first process is its successor only
// if it handles the stop signal and was there when drainit looked. Else it may be the one
// that is left of what the first process started.
func (m *chaosModel) addShell(may map[int]string) {
	first, asked := m.firstStop()
	worker := m.worker()
	successor := asked && m.plan.mode != "worker"
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
		if m.mayTell(sig) && m.does(worker, sig) != "catch" {
			successor = false
		}
	}
	gone := worker.ends > 0 && asked && worker.ends < m.thawed(first.at)+sameTime+m.waited()
	if asked && (!successor || gone || m.plan.mode == "group" || m.mayKill()) {
		may[143] = "the shell died of it"
	}
	if asked && (!successor && m.plan.mode == "auto" || gone || m.plan.mode == "group") {
		for _, l := range m.lives {
			if l.ends > 0 {
				may[l.how] = "the first process went with the shell, and this one was its successor"
			}
		}
	}
	if m.plan.mode != "auto" && m.mayTell(unix.SIGINT) {
		may[130] = "the shell was sent INT like the others"
	}
	if m.mayDieOfHUP() {
		may[129] = "the shell died of HUP"
	}
}

// surelyKilled reports whether some process can have ended by SIGKILL only, and
// a stop was asked for well before.
func (m *chaosModel) surelyKilled() bool {
	first, _ := m.firstStop()
	return m.ended-first.at > sameTime+m.slack() && len(m.victims()) > 0
}

func (m *chaosModel) wrongStatus() []string {
	may := m.statuses()
	if has(may, m.status) {
		return nil
	}
	return []string{fmt.Sprintf("exit status %d, of %v", m.status, may)}
}

func has[K comparable, V any](m map[K]V, key K) bool { _, ok := m[key]; return ok }
