package forward

import "drainit/internal/proc"

// FirstOnEachWayDown returns the first process on each way down from root,
// which is the first on all of them, for which catches is true. What is below
// one that catches the signal is that one's business.
func FirstOnEachWayDown(t proc.Tree, root int, catches func(pid int) bool) []proc.Process {
	var first []proc.Process
	seen := make(map[int]bool) // /proc is no snapshot: a recycled pid could close a ring
	var visit func(p proc.Process)
	visit = func(p proc.Process) {
		if seen[p.PID] {
			return
		}
		seen[p.PID] = true
		if catches(p.PID) {
			first = append(first, p)
			return
		}
		for _, child := range t.Children(p.PID) {
			visit(child)
		}
	}
	if p, ok := t.Process(root); ok {
		visit(p)
	}
	return first
}
