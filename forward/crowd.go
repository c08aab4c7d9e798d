package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// crowd is how many deliveries are so many that it is worth a look whether one call can make
// them.
const crowd = 32

// AsCrowd returns the same as a plan that begins a stop, but for its first delivery, the
// worker's: one delivery to the worker's process group in place of each to its members. It is
// the same only once the worker has ended, and if no process has come since the snapshot. It
// returns nil where these are few, or the group has members that are not to be signalled so.
func AsCrowd(plan []Delivery, s *proc.Snapshot, w Worker) (all []Delivery) {
	if len(plan) <= crowd || w.Gone || w.PGID != w.PID || plan[0].Process.PID != w.PID || plan[0].Target != ToProcess {
		return nil
	}
	worker := plan[0].Process
	group := Delivery{Target: ToGroup, Process: worker, PGID: w.PGID, Stop: true}
	planned := make(map[int]unix.Signal)
	for i := range plan[1:] {
		d := &plan[1+i]
		switch {
		case d.Process.PGID != w.PGID:
			all = append(all, *d)
			continue
		case d.Parent.PID != 0 && d.Parent != worker.ID: // another is to end before
			return nil
		}
		group.Signal, group.Rule = d.Signal, d.Rule
		group.Members = append(group.Members, d.Process)
		planned[d.Process.PID] = d.Signal
	}
	if len(group.Members) < crowd {
		return nil
	}
	for _, p := range s.Group(w.PGID) {
		if p.PID != w.PID && planned[p.PID] != group.Signal {
			return nil
		}
	}
	return append(all, group)
}
