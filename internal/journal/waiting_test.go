package journal

import (
	"os"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/worker"
	"drainit/reaper"
)

// A drain may last for ever, and any number of orphans come and go in it that wait, or wait and are said to.
func TestNothingIsKeptOfOrphansThatHaveEnded(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	log := logx.New(int(null.Fd()), false, zapcore.InfoLevel)
	j := New(log, machine.New(machine.Config{}), new(worker.Worker), "")
	for pid := 2; pid < 3000; pid++ {
		p := proc.Process{ID: proc.ID{PID: pid, Start: 1}, PPID: os.Getpid(), Comm: "orphan"}
		j.Waiting(forward.Waiting{Processes: []*proc.Process{&p}, Rule: "it cleans up", Undecided: pid%2 == 0})
		if n := len(j.waiting); n != 1 {
			t.Fatalf("%d waiting, want the one that lives", n)
		}
		j.Announce(time.Now(), machine.Action{Kind: machine.AnnounceProgress}, func() Living { return Living{All: []*proc.Process{&p}} })
		j.Ended(worker.Exit{WaitEvent: reaper.WaitEvent{PID: pid}})
	}
	if n := len(j.waiting) + len(j.said); n != 0 {
		t.Errorf("%d are kept", n)
	}
	log.Close()
}
