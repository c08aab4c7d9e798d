package proc

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Asker is a process that asks drainit for something: it bears a name that says what.
type Asker struct {
	Process
	UID int // its effective one
}

var errOfAnother = errors.New("it asks another drainit")

// Asker finds a living process with this name, and one of its second thread, which drainit's program may give itself,
// and which kill(2) lets signal drainit. ok is false where there is none, or /proc can't be read.
func (r *Reader) Asker(name, second string) (a Asker, ok bool) {
	all, _ := r.All()
	for _, p := range all.All() {
		if p.Comm != name || RunsAnother(p.PID) {
			continue
		}
		status, err := beside(r, func(g *reading) ([]byte, error) {
			g.reads(p.PID, details)
			thread, err := readSmall(procPath(SecondThread(p.PID), "comm"))
			if err != nil || string(bytes.TrimSpace(thread)) != second {
				return nil, errors.Join(err, errOfAnother)
			}
			return readSmall(procPath(p.PID, "status"))
		})
		if uid, may := maySignal(status); err == nil && may {
			return Asker{*p, uid}, true
		}
	}
	return Asker{}, false
}

// maySignal reports whether a process with this status may signal drainit, and its effective user: one of drainit's own,
// or root of drainit's namespace with CAP_KILL. The capabilities of another user may be of a namespace of its own.
func maySignal(status []byte) (uid int, may bool) {
	ids, rest := valueOf(status, "Uid") // real, effective, saved, and that for files
	capabilities, _ := valueOf(rest, "CapEff")
	of := bytes.Fields(ids)
	if len(of) < 2 {
		return 0, false
	}
	ruid, _, suid := unix.Getresuid()
	own := []string{strconv.Itoa(ruid), strconv.Itoa(suid)}
	effective, err := strconv.ParseUint(string(capabilities), 16, 64)
	kills := err == nil && string(of[1]) == "0" && effective&(1<<unix.CAP_KILL) != 0
	uid, _ = strconv.Atoi(string(of[1]))
	return uid, kills || slices.Contains(own, string(of[0])) || slices.Contains(own, string(of[1]))
}
