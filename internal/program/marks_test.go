package program

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/harness/rows"
)

// inputs are the standard inputs of the tables.
var inputs = map[string]proc.Input{"parents": proc.ParentsInput, "null": proc.NullInput,
	"unknown": proc.UnknownInput, "another": proc.AnotherInput}

// set has the signals of some names, "all but" those, or those of a mask.
func set(t *testing.T, text string) (s signals.Set) {
	t.Helper()
	if mask, err := strconv.ParseUint(text, 0, 64); err == nil {
		return signals.Set(mask)
	}
	names, allBut := strings.CutPrefix(text, "all but ")
	for name := range strings.FieldsSeq(names) {
		sig, err := signals.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		s |= signals.SetOf(sig)
	}
	if allBut {
		s = ^s
	}
	return s
}

// shellOf is a shell with a child, in one group and with one input, and with others. Shell and child may be
// changed before the snapshot.
func shellOf(exe string, change func(shell, child *proc.Process), others ...proc.Process) (
	all *proc.Snapshot, child, shell *proc.Process,
) {
	sh := proc.Process{ID: proc.ID{PID: 10, Start: 1}, PPID: 1, PGID: 10, State: 'S', Comm: exe,
		Details: proc.Details{Exe: exe}}
	app := proc.Process{ID: proc.ID{PID: 11, Start: 2}, PPID: 10, PGID: 10, State: 'S',
		Details: proc.Details{Exe: "app", Input: proc.ParentsInput}}
	change(&sh, &app)
	all = proc.New(append(others, sh, app))
	return all, all.Children(10)[0], all.Children(1)[0]
}

func TestInBackground(t *testing.T) {
	rows.Compare(t, "testdata/background.tsv", 6, func(row []string) any {
		_, child, shell := shellOf("dash", func(shell, child *proc.Process) {
			shell.Ignored = set(t, row[4])
			child.Exe, child.Ignored, child.Handled = row[1], set(t, row[2]), set(t, row[3])
		})
		return InBackground(child, shell)
	})
}

func TestInForeground(t *testing.T) {
	rows.Compare(t, "testdata/foreground.tsv", 9, func(row []string) any {
		return InForeground(shellOf(row[1], func(shell, child *proc.Process) {
			shell.Ignored = set(t, row[2])
			child.Exe, child.Ignored, child.Handled = row[3], set(t, row[4]), set(t, row[5])
			if child.Input = inputs[row[6]]; row[7] == "own" {
				child.PGID = child.PID
			}
		}))
	})
}

func TestInForegroundBesideAnother(t *testing.T) {
	pipe := proc.File{Device: 1, Inode: 2}
	rows.Compare(t, "testdata/beside-another.tsv", 6, func(row []string) any {
		other := proc.Process{ID: proc.ID{PID: 12, Start: 2}, PPID: 10, PGID: 10, State: 'S',
			Ignored: set(t, row[2]), Details: proc.Details{Exe: "other", Input: inputs[row[3]]}}
		reads := row[4] != ""
		if reads {
			other.Reads = pipe
		}
		all, app, shell := shellOf("dash",
			func(_, child *proc.Process) { child.Handled = set(t, row[1]) }, other)
		if reads {
			all.AddWriter(pipe, app.PID)
		}
		return InForeground(all, app, shell)
	})
}

func TestMayTrap(t *testing.T) {
	for line, want := range map[string]bool{
		"sh|start.sh": true, "sh": true, "sh|-c": true, "sh|-c|trap x TERM; app": true,
		"sh|-ec|app": false, "sh|-c|app": false,
		"bash|--rc|app": true, "bash|-e|start.sh": true, "sh|c|app": true,
	} {
		if got := MayTrap(&proc.Process{Details: proc.Details{Args: strings.Split(line, "|")}}); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// Go and Java exit by some signals; other runtimes die of them.
func TestExitsBy(t *testing.T) {
	const goAll, java = 0x7fc1feff, 0x5ccf
	for _, tt := range []struct {
		handled signals.Set
		sig     unix.Signal
		status  int
		want    bool
	}{
		{goAll, unix.SIGQUIT, 2, true}, {goAll, unix.SIGQUIT, 131, false}, {goAll, unix.SIGTERM, 2, false},
		{java, unix.SIGTERM, 143, true}, {java, unix.SIGHUP, 129, true}, {java, unix.SIGTERM, 130, false},
		{java, unix.SIGQUIT, 131, false}, {java, unix.SIGUSR1, 138, false}, {0, unix.SIGTERM, 143, false},
	} {
		p := proc.Process{Handled: tt.handled, Details: proc.Details{Exe: "app"}}
		if got := ExitsBy(&p, tt.sig, tt.status); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestDrainsOn(t *testing.T) {
	rows.Compare(t, "testdata/drains-on.tsv", 4, func(row []string) any {
		p := proc.Process{Handled: set(t, row[1]), Details: proc.Details{Exe: row[0]}}
		return DrainsOn(&p, unix.SignalNum("SIG"+row[2]))
	})
}
