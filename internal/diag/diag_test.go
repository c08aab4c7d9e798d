package diag

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

const workerPID = 10

// made is a process by its command line: what runs it is the file name of the first word.
func made(pid, ppid int, line string, handled ...unix.Signal) proc.Process {
	args := strings.Fields(line)
	exe := filepath.Base(args[0])
	return proc.Process{ID: proc.ID{PID: pid, Start: 1}, PPID: ppid, State: 'S', Comm: exe,
		Handled: signals.SetOf(handled...), Details: proc.Details{Exe: exe, Args: args}}
}

func worker(line string, handled ...unix.Signal) proc.Process {
	return made(workerPID, 1, line, handled...)
}

// below is a program below the worker.
func below(pid, ppid int, handled ...unix.Signal) proc.Process {
	return made(pid, ppid, "node app.js", handled...)
}

func dead(p proc.Process) proc.Process {
	p.State = 'Z'
	return p
}

func named(comm string, p proc.Process) proc.Process {
	p.Comm, p.Exe = comm, ""
	return p
}

func TestKeepsSignals(t *testing.T) {
	var allOfGo []unix.Signal
	for sig := unix.SIGHUP; sig <= unix.SIGSYS; sig++ {
		if !signals.SetOf(unix.SIGKILL, unix.SIGSTOP).Has(sig) {
			allOfGo = append(allOfGo, sig)
		}
	}
	for _, tt := range []struct {
		p    proc.Process
		want bool
	}{
		{worker("sh -c x"), true},
		{worker("bash", unix.SIGINT), true},
		{worker("bash", unix.SIGTERM), false}, // with a trap
		{worker("node /usr/bin/npm start", unix.SIGTERM), true},
		{worker("go run .", allOfGo...), true},
		{worker("node app.js"), false},
	} {
		if got := KeepsSignals(tt.p); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.p.Args, got, tt.want)
		}
	}
}

// The processes that a wrapper stands before, "" for no wrapper.
func TestWrapped(t *testing.T) {
	for name, tt := range map[string]struct {
		all  []proc.Process
		want string
	}{
		"a shell": {[]proc.Process{worker("sh"), below(11, 10), below(12, 11)},
			"node[11]"},
		"npm and its shell": {[]proc.Process{worker("node /usr/bin/npm start"), made(11, 10, "sh"),
			below(12, 11)}, "node[12]"},
		"a shell and what runs npm": {[]proc.Process{worker("sh"), made(11, 10, "node /usr/bin/npm start"),
			below(12, 11), below(13, 10)}, "node[12] node[13]"},
		"what a script waits with": {[]proc.Process{worker("sh"), below(11, 10), made(12, 10, "sleep 1")},
			"node[11]"},
		"one of two is dead": {[]proc.Process{worker("sh"), dead(below(11, 10)), below(12, 10)},
			"node[12]"},
		"none below":                 {[]proc.Process{worker("sh")}, ""},
		"a shell with a trap":        {[]proc.Process{worker("sh", unix.SIGTERM), below(11, 10)}, ""},
		"a program":                  {[]proc.Process{worker("node"), below(11, 10)}, ""},
		"a dead shell":               {[]proc.Process{dead(worker("sh")), below(11, 10)}, ""},
		"a worker that is not shown": {[]proc.Process{below(11, 10)}, ""},
		"no /proc":                   {nil, ""},
	} {
		s := proc.New(tt.all)
		if tt.all == nil {
			s = nil
		}
		_, atWork := Wrapped(s, workerPID)
		var got []string
		for _, p := range atWork {
			got = append(got, p.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// The worker is at work whatever its name.
func TestAtWorkIsTheWorkerItself(t *testing.T) {
	if got := AtWork(proc.New([]proc.Process{worker("sleep 1"), below(11, 10)}), workerPID); len(got) != 1 ||
		got[0].PID != workerPID {
		t.Errorf("%v", got)
	}
}

// time(1) dies of the signal, and the command that it waits for handles it.
func TestOnlyWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		child proc.Process
		want  bool
	}{
		"a child with a handler":    {below(12, 10, unix.SIGTERM), true},
		"a child without":           {below(12, 10), false},
		"a dead child":              {dead(below(12, 10, unix.SIGTERM)), false},
		"another process's child":   {below(12, 9, unix.SIGTERM), false},
		"a child for anything else": {below(12, 10, unix.SIGINT), false},
		"a child's child":           {below(12, 11, unix.SIGTERM), true},
	} {
		if got := OnlyWaits(proc.New([]proc.Process{worker("time"), made(11, 10, "sh"), tt.child}),
			worker("time"), unix.SIGTERM); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Go and Node have handlers whatever their program has.
func TestLacksHandler(t *testing.T) {
	const term = unix.SIGTERM
	blocked := worker("ruby")
	blocked.Blocked = signals.SetOf(term)
	for _, tt := range []struct {
		p              proc.Process
		lacks, certain bool
	}{
		{worker("ruby"), true, true},
		{worker("ruby", unix.SIGINT), true, true},
		{worker("ruby", term), false, false},
		{blocked, false, false},
		{worker("app", term, unix.SIGURG, unix.SIGSTKFLT, unix.SIGSEGV), true, false}, // Go
		{worker("node app.js", term), true, false},
		{named("node", worker("x", term)), true, false},
		{proc.Process{ID: proc.ID{PID: workerPID}, Comm: "app"}, true, false}, // nothing was read
		{worker("php8.2 worker.php", unix.SIGQUIT), true, true},
		{worker("sh"), false, false},
		{worker("node /usr/bin/npm"), false, false},
	} {
		if lacks, certain := LacksHandler(tt.p, term); lacks != tt.lacks || certain != tt.certain {
			t.Errorf("%+v: %v %v, want %v %v", tt.p, lacks, certain, tt.lacks, tt.certain)
		}
	}
	python := worker("python3.11 app.py", unix.SIGINT, term)
	// of INT it has one by itself
	for sig, want := range map[unix.Signal]bool{unix.SIGINT: true, term: false} {
		if lacks, certain := LacksHandler(python, sig); lacks != want || certain {
			t.Errorf("%v: %v %v", sig, lacks, certain)
		}
	}
}

// What finds must not act: the package knows no other of this module than these.
func TestWhatIsImported(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(strings.Fields(string(out)),
		func(path string) bool { return !strings.HasPrefix(path, "drainit/") })
	slices.Sort(got)
	if allowed := []string{"drainit/internal/diag", "drainit/internal/proc", "drainit/internal/program",
		"drainit/internal/signals"}; !slices.Equal(got, allowed) {
		t.Errorf("%v, want %v", got, allowed)
	}
}
