package diag

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/harness/rows"
)

const workerPID = 10

// made reads a process, such as "11<10 node app.js +TERM -INT dead": its pid and its parent's, which are
// those of the worker if they are not given, its words, what it handles, what it blocks, and that it is
// dead, that its file is hidden, or that nothing of it was read. What runs it is the file name of the first
// word.
func made(text string) proc.Process {
	p := proc.Process{ID: proc.ID{PID: workerPID, Start: 1}, PPID: 1, State: 'S'}
	for word := range strings.FieldsSeq(text) {
		_, _, pids := strings.Cut(word, "<")
		sig := signals.SetOf(unix.SignalNum("SIG" + word[1:]))
		switch {
		case pids:
			_, _ = fmt.Sscanf(word, "%d<%d", &p.PID, &p.PPID)
		case word == "dead":
			p.State = 'Z'
		case word == "hidden":
			p.Exe = ""
		case word == "unread":
			p = proc.Process{ID: proc.ID{PID: p.PID}, Comm: p.Comm}
		case word == "+ALL":
			p.Handled = 1<<31 - 1&^signals.SetOf(unix.SIGKILL, unix.SIGSTOP)
		case word[0] == '+':
			p.Handled |= sig
		case word[0] == '-' && sig != 0:
			p.Blocked |= sig
		default:
			p.Args = append(p.Args, word)
			p.Exe = filepath.Base(p.Args[0])
			p.Comm = p.Exe
		}
	}
	return p
}

// snapshot is one of processes that semicolons part, nil of none.
func snapshot(text string) *proc.Snapshot {
	if text == "" {
		return nil
	}
	var all []proc.Process
	for one := range strings.SplitSeq(text, "; ") {
		all = append(all, made(one))
	}
	return proc.New(all)
}

func TestKeepsSignals(t *testing.T) {
	for text, want := range map[string]bool{
		"sh -c x":                       true,
		"bash +INT":                     true,
		"bash +TERM":                    false, // with a trap
		"node /usr/bin/npm start +TERM": true,
		"go run . +ALL":                 true,
		"node app.js":                   false,
	} {
		if got := KeepsSignals(made(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// The processes that a wrapper stands before, none for no wrapper.
func TestWrapped(t *testing.T) {
	for text, want := range map[string]string{
		"sh; 11<10 node; 12<11 node":                                "[node[11]]",
		"node /usr/bin/npm start; 11<10 sh; 12<11 node":             "[node[12]]",
		"sh; 11<10 node /usr/bin/npm start; 12<11 node; 13<10 node": "[node[12] node[13]]",
		"sh; 11<10 node; 12<10 sleep 1":                             "[node[11]]", // what a script waits with
		"sh; 11<10 node dead; 12<10 node":                           "[node[12]]",
		"sh":                                                        "[]",
		"sh +TERM; 11<10 node":                                      "[]",
		"node; 11<10 node":                                          "[]",
		"sh dead; 11<10 node":                                       "[]",
		"11<10 node":                                                "[]", // the worker is not shown
		"":                                                          "[]", // no /proc
	} {
		if _, atWork := Wrapped(snapshot(text), workerPID); fmt.Sprint(atWork) != want {
			t.Errorf("%q: %v, want %s", text, atWork, want)
		}
	}
}

// The worker is at work whatever its name.
func TestAtWorkIsTheWorkerItself(t *testing.T) {
	if got := fmt.Sprint(AtWork(snapshot("sleep 1; 11<10 node"), workerPID)); got != "[sleep[10]]" {
		t.Error(got)
	}
}

// time(1) dies of the signal, and the command that it waits for handles it.
func TestOnlyWaits(t *testing.T) {
	for child, want := range map[string]bool{
		"12<10 node +TERM":      true,
		"12<10 node":            false,
		"12<10 node +TERM dead": false,
		"12<9 node +TERM":       false,
		"12<10 node +INT":       false,
		"12<11 node +TERM":      true,
	} {
		if got := OnlyWaits(snapshot("time; 11<10 sh; "+child), made("time"), unix.SIGTERM); got != want {
			t.Errorf("%q: %v, want %v", child, got, want)
		}
	}
}

func TestLacksHandler(t *testing.T) {
	rows.Compare(t, "testdata/handlers.tsv", 3, func(row []string) any {
		lacks, certain := LacksHandler(made(row[0]), unix.SignalNum("SIG"+row[1]))
		return map[[2]bool]string{{true, true}: "lacks one", {true, false}: "may lack one",
			{false, true}: "is certain to have one"}[[2]bool{lacks, certain}]
	})
}
