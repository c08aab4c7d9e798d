package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness/rows"
)

// A signal that would end a process is meant as the stop where no process handles it, and one handles the
// stop signal.
func TestMeansStop(t *testing.T) {
	rows.Compare(t, "testdata/means-stop.tsv", 4, func(row []string) any {
		sig, shown := signal(t, row[1]), newDrill(t, row[2], unix.SIGTERM, ModeAuto).w.snapshot()
		return MeansStop(drainitPID, sig, unix.SIGTERM, shown)
	})
}

// A snapshot is taken where the plan depends on more than the worker.
func TestNeedsTree(t *testing.T) {
	purposeOf := map[string]Purpose{
		"stop": Stop, "final call": FinalCall, "pass": PassThrough, "quiet": Quiet, "resume": Resume}
	rows.Compare(t, "testdata/needs-tree.tsv", 6, func(row []string) any {
		h := NewHistory(drainitPID, row[1] == "runs on")
		h.Started(10)
		if row[1] != "lives" {
			h.Exited(10, 0)
		}
		return h.NeedsTree(Request{Purpose: purposeOf[row[2]], Mode: modesOf[row[3]],
			Signal: signal(t, row[4])})
	})
}
