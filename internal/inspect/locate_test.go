package inspect

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/proc"
)

// being is a process of a test: its cgroup, and what it runs.
type being struct {
	pid, ppid int
	comm      string
	cgroup    string // "" where it can't be read
	runs      string // "drainit" is what the verb runs, "" where it can't be read
}

// madeUp is a /proc with these, and the verb in the cgroup "own".
func madeUp(beings []being) system {
	var all []proc.Process
	of := map[int]being{os.Getpid(): {cgroup: "own"}}
	for _, b := range beings {
		all = append(all, proc.Process{ID: proc.ID{PID: b.pid}, PPID: b.ppid, Comm: b.comm, State: 'S'})
		of[b.pid] = b
	}
	snapshot := proc.New(all)
	return system{
		read: func(pid int) (proc.Process, error) {
			p, ok := snapshot.Process(pid)
			if !ok {
				return p, unix.ENOENT
			}
			return p, nil
		},
		all: func() (*proc.Snapshot, error) { return snapshot, nil },
		file: func(pid int, _ string) (string, error) {
			if of[pid].cgroup == "" {
				return "", errors.New("not permitted")
			}
			return of[pid].cgroup, nil
		},
		runsAnother: func(pid int) bool { return of[pid].runs != "drainit" && of[pid].runs != "" },
	}
}

func TestWhichDrainitIsMeant(t *testing.T) {
	pause := being{1, 0, "pause", "pause", "pause"}
	real := being{10, 1, "drainit:run", "own", "drainit"}
	none := "no drainit runs a worker"
	for name, tt := range map[string]struct {
		all  []being
		want int
		err  string
	}{
		"PID 1": {
			[]being{{1, 0, "drainit:run", "own", "drainit"}, {2, 1, "node", "own", "node"}}, 1, ""},
		"PID 1 that is starting": {
			[]being{{1, 0, "drainit:start", "own", "drainit"}}, 1, ""},
		"PID 1 has no title yet": {[]being{{1, 0, "drainit", "own", "drainit"}}, 0, none},
		"PID 1 is a pause": {
			[]being{{1, 0, "drainit:pause", "own", "drainit"}}, 0, none},
		"PID 1 is asked from another cgroup": {[]being{{1, 0, "drainit:run", "its", "drainit"}}, 1, ""},
		"an impostor below PID 1": {
			[]being{{1, 0, "drainit:run", "own", "drainit"}, {2, 1, "drainit:kill", "own", "sh"}}, 1, ""},
		"none":         {[]being{pause}, 0, none},
		"one of a pod": {[]being{pause, real}, 10, ""},
		"one of another container": {
			[]being{pause, {11, 1, "drainit:run", "other", "drainit"}}, 0, none},
		"beside one of another container": {
			[]being{pause, real, {11, 1, "drainit:run", "other", "drainit"}}, 10, ""},
		"an impostor that is the worker": {
			[]being{pause, real, {11, 10, "drainit:run", "own", "perl"}}, 10, ""},
		"an impostor below the worker, unreadable": {
			[]being{pause, real, {11, 10, "sh", "own", "sh"}, {12, 11, "drainit:run", "own", ""}}, 10, ""},
		"an impostor beside it": {
			[]being{pause, real, {11, 1, "drainit:run", "own", "perl"}}, 10, ""},
		"an impostor of another user": {
			[]being{pause, real, {11, 1, "drainit:run", "own", ""}}, 0,
			"several drainits here: 10, 11; choose one with --pid"},
		"a drainit below it": {
			[]being{pause, real, {11, 10, "drainit:run", "own", "drainit"}}, 10, ""},
		"the image's below another version": {
			[]being{pause, {10, 1, "drainit:run", "own", "podman-init"},
				{11, 10, "drainit:run", "own", "drainit"}}, 11, ""},
		"an impostor alone": {[]being{pause, {10, 1, "drainit:run", "own", "perl"}}, 0, none},
		"an impostor above it": {
			[]being{pause, {9, 1, "drainit:run", "own", "perl"}, {10, 9, "drainit:run", "own", "drainit"}},
			10, ""},
		"an impostor below a hidden PID 1": {
			[]being{{11, 10, "drainit:run", "own", "perl"}}, 0, "PID 1 is hidden from this user"},
		"beside a hidden PID 1": {[]being{real}, 10, ""},
		"PID 1 is hidden":       {nil, 0, "PID 1 is hidden from this user"},
		"two": {
			[]being{pause, real, {11, 1, "drainit:drain", "own", "drainit"}}, 0,
			"several drainits here: 10, 11; choose one with --pid"},
	} {
		got, err := madeUp(tt.all).locate(0)
		if err == nil && got.PID != tt.want || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d, %v; want %d, %s", name, got.PID, err, tt.want, tt.err)
		}
	}
}

// The kernel shows a name while it changes: "drainit:run" over "drainit:start" may end in "rt".
func TestTornTitleIsReadAgain(t *testing.T) {
	denied := errors.New("not permitted")
	for name, tt := range map[string]struct {
		shown []string // by one look after the other
		fails error
		want  error
	}{
		"whole":               {[]string{"drainit:run"}, nil, nil},
		"another program":     {[]string{"node", "node"}, nil, unix.ESRCH},
		"a pod's pause":       {[]string{"drainit:pause", "drainit:pause"}, nil, unix.ESRCH},
		"torn":                {[]string{"drainit:runrt", "drainit:run"}, nil, nil},
		"torn, and then gone": {[]string{"drainit:runrt", "init"}, nil, unix.ESRCH},
		"not to be read":      {[]string{""}, denied, denied},
	} {
		looks := 0
		d, err := system{read: func(pid int) (proc.Process, error) {
			looks++
			return proc.Process{Comm: tt.shown[looks-1], State: 'S'}, tt.fails
		}}.look(1)
		if err != tt.want || looks != len(tt.shown) || err == nil && d.is.Phase != machine.Running {
			t.Errorf("%s: %+v, %v after %d looks, want %v", name, d.is, err, looks, tt.want)
		}
	}
}
