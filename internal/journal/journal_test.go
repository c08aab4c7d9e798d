package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/worker"
)

// written is a journal that writes to a file. It returns the lines, and closes the journal with it.
func written(t *testing.T, level zapcore.Level, m *machine.Machine) (j *Journal, lines func() string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	j = New(logx.New(int(file.Fd()), false, level), m, &worker.Worker{PID: 10, Comm: "node"},
		forward.NewHistory(1, false))
	return j, func() string {
		j.Log.Close()
		all, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
}

// inDrain is a machine in a drain that has begun now.
func inDrain(cfg machine.Config) *machine.Machine {
	m := machine.New(cfg)
	m.Step(time.Now(), machine.Event{Kind: machine.Started})
	m.Step(time.Now(), machine.Event{Kind: machine.StopSignaled, Signal: unix.SIGTERM})
	return m
}

func orphan(pid int) *proc.Process {
	return &proc.Process{ID: proc.ID{PID: pid, Start: 1}, PPID: os.Getpid(), Comm: "orphan", State: 'S'}
}

// A line that the log leaves out is not even made. The words of any other are returned.
func TestWordsOfALine(t *testing.T) {
	for at, want := range map[diag.Level][2]string{
		atInfo: {"", "running again"}, atDebug: {"started node[10]", "running again"},
	} {
		j, lines := written(t, at.Level, machine.New(machine.Config{}))
		if got := [2]string{j.Say(Started), j.Say(running, "", unix.Signal(0))}; got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
		if got := lines(); strings.Contains(got, "started") != (want[0] != "") ||
			!strings.Contains(got, want[1]) {
			t.Errorf("%v: %q", at, got)
		}
	}
}

// Notes are taken from the stop on, of 10,000 processes and the last ones beside.
func TestNotesAreBounded(t *testing.T) {
	const most = 10_000
	before, _ := written(t, atInfo.Level, machine.New(machine.Config{}))
	before.Note("too early", proc.ID{PID: 7})
	before.Log.Close()
	if before.notes != nil {
		t.Error("a note was taken before a stop")
	}
	j, _ := written(t, atInfo.Level, inDrain(machine.Config{Grace: time.Minute}))
	defer j.Log.Close()
	for range most + 5 {
		j.Note("it works", proc.ID{PID: 7})
	}
	if info, err := j.notes.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read them: %v, %v", info.Mode(), err)
	}
	if j.noted != most+1 {
		t.Errorf("%d were noted, want %d", j.noted, most+1)
	}
}

// One that drainit leaves alone has a line on when it is signalled at the latest. That depends on the call.
func TestWhenAWaitingProcessIsSignalled(t *testing.T) {
	for name, tt := range map[string]struct {
		grace time.Duration
		call  forward.Purpose
		want  string
	}{
		"in the last call": {40 * time.Second, forward.LastCall,
			"it is signalled 10s before SIGKILL at the latest\n"},
		"in the final call": {40 * time.Second, forward.FinalCall,
			"it is signalled 2s before SIGKILL at the latest\n"},
		"never": {machine.Forever, forward.LastCall,
			"drainit does not signal it, as the grace period is infinite\n"},
	} {
		j, lines := written(t, atInfo.Level, inDrain(machine.Config{Grace: tt.grace}))
		j.Unsignalled(forward.Unsignalled{Processes: []*proc.Process{orphan(11)}, Rule: "may be",
			Undecided: true, Call: tt.call})
		if got := lines(); !strings.HasSuffix(got,
			fmt.Sprintf("not signalled: orphan[11]: may be; %s", tt.want)) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
