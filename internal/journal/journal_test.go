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

// An argument that is missing is no word, and the loss of a line is a field.
func TestFieldsOfALine(t *testing.T) {
	j, _ := written(t, atDebug.Level, inDrain(machine.Config{Grace: time.Minute}))
	defer j.Log.Close()
	for _, tt := range []struct {
		m     Message
		args  []any
		words string
		keys  string
	}{
		{running, nil, "running again", "phase"},
		{running, []any{": CONT", unix.SIGCONT}, "running again: CONT", "phase signal"},
		{NotKilled, []any{"EPERM"}, "EPERM", "phase loses"},
		{draining, []any{"", Living{}}, "draining, SIGKILL in 1m0s", "phase left left_s"},
		{draining, []any{"", Living{Err: proc.ErrNoProc}}, "draining, SIGKILL in 1m0s", "phase left_s"},
	} {
		j.Now = j.machine.RequestedAt()
		words, all := j.line(tt.m, tt.args)
		var keys []string
		for _, f := range all {
			keys = append(keys, f.Key)
		}
		if words != tt.words || strings.Join(keys, " ") != tt.keys {
			t.Errorf("%q %v: %q, %v", tt.m.Text, tt.args, words, keys)
		}
	}
}

// The reason is that of the kill while processes are killed, and afterwards if one was.
func TestReasonOfAKill(t *testing.T) {
	victims := []*proc.Process{orphan(11)}
	for _, kill := range []bool{false, true} {
		j, _ := written(t, atInfo.Level, inDrain(machine.Config{Grace: time.Second}))
		defer j.Log.Close()
		if j.worker.Kill.Reason = machine.ReasonGrace; kill {
			j.worker.Kill.Victims = victims
		}
		if got := j.reason(); (got == machine.ReasonGrace) != kill {
			t.Errorf("killed %v: %v", kill, got)
		}
		j.machine.Step(time.Now().Add(time.Second), machine.Event{Kind: machine.TimePassed})
		if got := j.reason(); j.machine.Phase() != machine.Killing || got != machine.ReasonGrace {
			t.Errorf("killed %v, in phase %v: %v", kill, j.machine.Phase(), got)
		}
	}
}

// What is hidden from drainit is not counted as left.
func TestProgress(t *testing.T) {
	for left, want := range map[int]string{0: "draining, SIGKILL in 1m0s\n",
		1: "draining, 1 process left (orphan[11]), SIGKILL in 1m0s\n"} {
		j, lines := written(t, atInfo.Level, inDrain(machine.Config{Grace: time.Minute}))
		j.Now = j.machine.RequestedAt()
		j.Progress(Living{All: []*proc.Process{orphan(11)}[:left]})
		if got := lines(); !strings.HasSuffix(got, want) {
			t.Errorf("%d left: %q", left, got)
		}
	}
}
