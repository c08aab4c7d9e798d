package journal

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/worker"
)

// logged is what a journal writes, as text.
func logged(t *testing.T, write func(j *Journal)) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	log := logx.New(int(w.Fd()), false, zapcore.InfoLevel)
	write(New(log, machine.New(machine.Config{Grace: time.Second}), &worker.Worker{Comm: "worker"}))
	log.Close()
	w.Close()
	var text [4096]byte
	n, _ := r.Read(text[:]) // nothing was written: 0
	return string(text[:n])
}

// What outlived SIGKILL is named; where /proc shows none, or can't be read, no list is begun
// that has nothing in it.
func TestStuckNeverEndsInAnEmptyList(t *testing.T) {
	for name, tt := range map[string]struct {
		left Left
		want string
	}{
		"one":                {Left{All: []*proc.Process{{ID: proc.ID{PID: 7}, Comm: "dd", State: 'D'}}}, "still alive: dd[7] (stuck in the kernel)"},
		"none that is shown": {Left{}, "still alive: what is left\n"},
		"unreadable":         {Left{Err: errors.New("no /proc")}, "still alive: what is left\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := logged(t, func(j *Journal) {
				j.Announce(time.Now(), machine.Action{Kind: machine.AnnounceStuck}, func() Left { return tt.left })
			})
			if !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("%q, want one line with %q", got, tt.want)
			}
		})
	}
}
