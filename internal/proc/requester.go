package proc

import (
	"bytes"
	"strconv"
)

// Requester is a process that asks drainit for something: it bears a name that says what.
type Requester struct {
	Process
	UID int // its effective one, -1 if that can't be read
}

// Requester finds a living process with this name that runs drainit's program. ok is false where there is
// none, or /proc can't be read.
func (r *Reader) Requester(name string) (of Requester, ok bool) {
	all, _ := r.All()
	for _, p := range all.All() {
		if p.Comm == name && !RunsAnother(p.PID) {
			return Requester{*p, r.userOf(p.PID)}, true
		}
	}
	return Requester{}, false
}

// userOf returns the effective user of a process, -1 if it can't be read.
func (r *Reader) userOf(pid int) (uid int) {
	status, _ := withTimeout(r, func(g *reading) ([]byte, error) {
		if !g.reads(pid, details) {
			return nil, ErrNoAnswer
		}
		return readSmall(procPath(pid, "status"))
	})
	ids, _ := valueOf(status, "Uid") // real, effective, saved, and that for files
	if of := bytes.Fields(ids); len(of) > 1 {
		if uid, err := strconv.Atoi(string(of[1])); err == nil {
			return uid
		}
	}
	return -1
}
