package program

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

const interrupt, quit = unix.SIGINT, unix.SIGQUIT

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

// A command in the background ignores INT and QUIT, or has a handler in the place of one of the two.
func TestInBackground(t *testing.T) {
	for name, tt := range map[string]struct {
		ignored, handled []unix.Signal
		exe              string
		ofParent         []unix.Signal // ignored
		want             bool
	}{
		"both are ignored":            {[]unix.Signal{interrupt, quit}, nil, "app", nil, true},
		"INT alone":                   {[]unix.Signal{interrupt}, nil, "app", nil, false},
		"QUIT alone":                  {[]unix.Signal{quit}, nil, "app", nil, false},
		"a handler of INT":            {[]unix.Signal{quit}, []unix.Signal{interrupt}, "app", nil, true},
		"a handler of QUIT":           {[]unix.Signal{interrupt}, []unix.Signal{quit}, "app", nil, true},
		"a shell with a trap for INT": {[]unix.Signal{quit}, []unix.Signal{interrupt}, "dash", nil, false},
		"handlers of both":            {nil, []unix.Signal{interrupt, quit}, "app", nil, false},
		"as its parent": {
			[]unix.Signal{interrupt, quit}, nil, "app", []unix.Signal{interrupt, quit}, false},
		"its parent ignores INT": {
			[]unix.Signal{interrupt, quit}, nil, "app", []unix.Signal{interrupt}, true},
		"its parent ignores QUIT": {[]unix.Signal{interrupt, quit}, nil, "app", []unix.Signal{quit}, true},
	} {
		_, child, shell := shellOf("dash", func(shell, child *proc.Process) {
			shell.Ignored = signals.SetOf(tt.ofParent...)
			child.Exe, child.Ignored, child.Handled = tt.exe, signals.SetOf(tt.ignored...),
				signals.SetOf(tt.handled...)
		})
		if got := InBackground(child, shell); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Whatever could be a mark of the background, or hide one, is no foreground.
func TestInForeground(t *testing.T) {
	set := signals.SetOf
	for name, tt := range map[string]struct {
		exe    string
		change func(shell, child *proc.Process)
		want   bool
	}{
		"a command":         {"bash", func(_, _ *proc.Process) {}, true},
		"a command of dash": {"dash", func(_, _ *proc.Process) {}, true},
		"zsh has one mark":  {"zsh", func(_, _ *proc.Process) {}, false},
		"another input":     {"bash", func(_, child *proc.Process) { child.Input = proc.NullInput }, false},
		"an unknown input": {
			"bash", func(_, child *proc.Process) { child.Input = proc.UnknownInput }, false},
		"job control": {"bash", func(_, child *proc.Process) { child.PGID = 11 }, false},
		"unknown masks": {"bash", func(_, child *proc.Process) {
			child.Handled = ^set(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
		}, false},
		"it ignores INT": {
			"bash", func(_, child *proc.Process) { child.Ignored = set(interrupt) }, false},
		"it ignores QUIT": {"bash", func(_, child *proc.Process) { child.Ignored = set(quit) }, false},
		"a shell ignores it": {
			"bash", func(_, child *proc.Process) { child.Exe, child.Ignored = "dash", set(quit) }, true},
		"the shell does, too": {
			"bash", func(shell, _ *proc.Process) { shell.Ignored = set(interrupt) }, false},
		"it handles QUIT": {"bash", func(_, child *proc.Process) { child.Handled = set(quit) }, true},
	} {
		if got := InForeground(shellOf(tt.exe, tt.change)); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Another child of the shell may have the mark that a command lacks.
func TestInForegroundBesideAnother(t *testing.T) {
	pipe := proc.File{Device: 1, Inode: 2}
	marked := signals.SetOf(interrupt, quit)
	for name, tt := range map[string]struct {
		handled, ignored signals.Set // of the command, and of the other
		input            proc.Input  // of the other
		reads            bool        // the other, what the command writes
		want             bool
	}{
		"one in the background":                {0, marked, proc.NullInput, false, true},
		"one that is alike":                    {0, 0, proc.ParentsInput, false, true},
		"one of another input, without a mark": {0, 0, proc.NullInput, false, false},
		"one of unknown input, without a mark": {0, 0, proc.UnknownInput, false, false},
		"what may hide a mark, and a background": {
			signals.SetOf(quit), marked, proc.NullInput, false, false},
		"a pipeline in the foreground": {0, 0, proc.AnotherInput, true, true},
		"a pipeline in the background": {0, marked, proc.AnotherInput, true, false},
		"what may hide a mark, on the left of a pipe": {
			signals.SetOf(quit), 0, proc.AnotherInput, true, false},
	} {
		other := proc.Process{ID: proc.ID{PID: 12, Start: 2}, PPID: 10, PGID: 10, State: 'S',
			Ignored: tt.ignored, Details: proc.Details{Exe: "other", Input: tt.input}}
		if tt.reads {
			other.Reads = pipe
		}
		all, app, shell := shellOf("dash", func(_, child *proc.Process) { child.Handled = tt.handled }, other)
		if tt.reads {
			all.AddWriter(pipe, app.PID)
		}
		if got := InForeground(all, app, shell); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
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

// A handler that a runtime has by itself drains nothing.
func TestDrainsOn(t *testing.T) {
	const java, python = signals.Set(0x2000000101005ccf), signals.Set(0x4002) // as they are found
	for _, tt := range []struct {
		exe     string
		handled signals.Set
		sig     unix.Signal
		want    bool
	}{
		{"app", signals.SetOf(quit), quit, true},
		{"app", signals.SetOf(quit), interrupt, false},
		{"java", java, quit, false},
		{"java", java, interrupt, true},
		{"python3.11", python, interrupt, false},
		{"python3.11", python, unix.SIGTERM, true},
		{"pypy3", python, interrupt, false},
		{"app", python, interrupt, true},
		{"php8.2", 0x4004a07, quit, false},
	} {
		if got := DrainsOn(&proc.Process{Handled: tt.handled, Details: proc.Details{Exe: tt.exe}},
			tt.sig); got != tt.want {
			t.Errorf("%s at %v: %v, want %v", tt.exe, tt.sig, got, tt.want)
		}
	}
}
