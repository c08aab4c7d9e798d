package forward

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// Snapshots may show anything: parents that are not there, dead ones with children, pids of others, any order
// of ends, of processes that live on. No history ends drainit by a panic or a loop.
func TestNoHistoryIsTooStrange(t *testing.T) {
	kinds := []string{"app", "bash", "mksh", "dash", "dies", "ignores", "init", "blocks", "composer",
		"npm with its handler"}
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		pid := func() int { return 10 + r.IntN(8) }
		l := newPlayed()
		for step := range 7 {
			var all []proc.Process
			d := details{Waits: make(map[int]program.Waiting), Writers: make(map[int][]int),
				Untouched: make(map[proc.ID]bool), Asleep: make(map[int]bool)}
			for n := 10; n < 18; n++ {
				if r.IntN(4) == 0 {
					continue
				}
				p := kindly(kinds[r.IntN(len(kinds))], n, []int{drainitPID, pid(), 9}[r.IntN(3)])
				if n == 10 {
					p.PPID = drainitPID // the worker is its child
				}
				p.Start, p.PGID, p.SID, p.State = []uint64{100, 100, 1010, 2000}[r.IntN(4)], pid(), pid(),
					"SSSRDTXZ"[r.IntN(8)]
				if r.IntN(3) == 0 {
					p.Ignored |= signals.SetOf(unix.SIGINT, unix.SIGQUIT)
				}
				d.Waits[n], d.Asleep[n], d.Untouched[p.ID] = program.Waiting(r.IntN(3)), r.IntN(2) == 0,
					r.IntN(2) == 0
				if r.IntN(5) == 0 {
					d.Writers[n] = []int{pid(), pid()}
				}
				all = append(all, p)
			}
			request := Request{Purpose: []Purpose{Orphans, LastCall, FinalCall}[r.IntN(3)],
				Signal: []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGQUIT}[seed%3],
				Mode:   []Mode{ModeAuto, ModeAuto, ModeGroup, ModeNone}[seed%4],
				Tick:   1000 + uint64(step*r.IntN(300))}
			if step == 0 {
				request.Purpose = []Purpose{Stop, Orphans}[r.IntN(2)]
			}
			for _, delivery := range l.deliveries(request, with(all, d)) {
				if r.IntN(8) > 0 { // else it had gone
					l.Sent(delivery, request.Tick)
				}
			}
			switch r.IntN(4) {
			case 0:
				l.Exited(pid(), []unix.WaitStatus{0, unix.WaitStatus(unix.SIGTERM), 7 << 8}[r.IntN(3)])
			case 1:
				died(l.History, pid())
			case 2:
				l.PromoteSuccessor(true)
			}
			plan := NewHistory(drainitPID, false)
			plan.Started(10)
			plan.Simulate(request, with(slices.Clone(all), d), with(all, d))
		}
	}
}
