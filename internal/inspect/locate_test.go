package inspect

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/test/harness/rows"
	"drainit/test/trees"
)

// madeUp is a /proc with the processes of a tree (package trees), and the verb in the cgroup "own". A name is
// a title and a PID. Words are the cgroup, and what the process runs, which is drainit or another program, or
// can't be read. Those of the name hidden are not shown.
func madeUp(tree string) system {
	var all []proc.Process
	cgroups, runs := map[int]string{os.Getpid(): "own"}, make(map[int]string)
	trees.Each(tree, 0, func(w trees.Process, ppid int) int {
		name, pid, _ := w.Numbered()
		if name != "hidden" {
			words := append(w.Words, "")
			cgroups[pid], runs[pid] = words[0], words[1]
			all = append(all, proc.Process{ID: proc.ID{PID: pid}, PPID: ppid, Comm: name, State: 'S'})
		}
		return pid
	})
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
			if cgroups[pid] == "" {
				return "", errors.New("not permitted")
			}
			return cgroups[pid], nil
		},
		runsAnother: func(pid int) bool { return runs[pid] != "drainit" && runs[pid] != "" },
	}
}

func TestWhichDrainitIsMeant(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/drainits.tsv", 4) {
		got, err := madeUp(row[1]).locate(0)
		if err == nil && strconv.Itoa(got.PID) != row[2] || (err == nil) != (row[3] == "") ||
			err != nil && !strings.Contains(err.Error(), row[3]) {
			t.Errorf("%s: %d, %v; want %s, %s", row[0], got.PID, err, row[2], row[3])
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
