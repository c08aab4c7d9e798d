package diag

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/harness/rows"
)

const workerPID = 10

// made reads a process, such as "11<10 node app.js +TERM -INT dead": its pid and its parent's, which are
// those of the worker if they are not given, its words, what it handles, blocks and ignores (=), and that it
// is dead, that its file is hidden, or that nothing of it was read. What runs it is the file name of the
// first word.
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
		case word[0] == '=':
			p.Ignored |= sig
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

// words are those of the lines, with their arguments.
func words(lines []Line) string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = os.Expand(l.Text, func(string) string {
			arg := l.Args[0]
			l.Args = l.Args[1:]
			return fmt.Sprint(arg)
		})
	}
	return strings.Join(all, "; ")
}

// The processes that a wrapper stands before are named, and the advice what could take its place.
func TestAtStart(t *testing.T) {
	const exec = ". Where the script ends with this command, start it with exec"
	const instead = ". Where it runs this command alone, start that in its place"
	for text, want := range map[string]string{
		"sh; 11<10 node; 12<11 node":                    "[node[11]] itself" + exec,
		"node /usr/bin/npm start; 11<10 sh; 12<11 node": "itself, if no other process has" + instead,
		"sh; 11<10 node /bin/npm; 12<11 js; 13<10 js":   "[js[12] js[13]] itself",
		"sh; 11<10 node; 12<10 sleep 1":                 "[node[11]] itself" + exec, // which it waits with
		"sh; 11<10 node dead; 12<10 node":               "[node[12]] itself" + exec,
		"sh":                                            "",
		"sh +TERM; 11<10 node":                          "",
		"node; 11<10 node":                              "",
		"sh dead; 11<10 node":                           "",
		"11<10 node":                                    "", // the worker is not shown
		"":                                              "", // no /proc
	} {
		got := words(AtStart(snapshot(text), workerPID, forward.ModeAuto))
		if !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for mode, want := range map[forward.Mode]string{
		forward.ModeGroup: "", forward.ModeNone: "", forward.ModeHandlers: "[node[11]] itself" + exec,
		forward.ModeWorker: "--forward worker drainit sends none to [node[11]]" + exec,
	} {
		got := words(AtStart(snapshot("sh; 11<10 node"), workerPID, mode))
		if !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("%v: %q, want %q", mode, got, want)
		}
	}
}

// begun is a stop by TERM.
func begun(text string) *Stop {
	s := &Stop{Worker: workerPID, Came: unix.SIGTERM, Sends: unix.SIGTERM, Start: snapshot(text), Began: 500}
	s.Begin(1, false)
	return s
}

// At work are the worker whatever its name, and what would die of the signal below another.
func TestAtWork(t *testing.T) {
	for text, want := range map[string]string{
		"sleep 1; 11<10 node":         "[sleep[10] node[11]]",
		"sh; 11<10 app +TERM":         "[app[11]]",
		"app +TERM; 11<10 sleep 1":    "[app[10]]", // a helper
		"app +TERM; 11<10 job":        "[app[10] job[11]]",
		"sh; 11<10 sleep 1; 12<10 js": "[js[12] js[12]]", // once for each reason
	} {
		if got := fmt.Sprint(begun(text).atWork); got != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
}

// time(1) dies of the signal, and the command that it waits for handles it.
func TestWorks(t *testing.T) {
	for child, want := range map[string]bool{
		"12<10 node +TERM":      false,
		"12<10 node":            true,
		"12<10 node +TERM dead": true,
		"12<9 node +TERM":       true,
		"12<10 node +INT":       true,
		"12<11 node +TERM":      false,
	} {
		p := made("time")
		if got := begun("time; 11<10 sh; "+child).works(&p, unix.SIGTERM); got != want {
			t.Errorf("%q: %v, want %v", child, got, want)
		}
	}
	for text, want := range map[string]bool{"11<10 job": true, "12<10 job": false} {
		p := made(text)
		if got := begun("app +TERM; 11<10 job").works(&p, unix.SIGTERM); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for beside, want := range map[string]bool{"12<10 node": true, "12<10 node +TERM": false} {
		p := made("11<10 tail +TERM") // which keeps a container open, and is no other for itself
		s := begun("sh; 11<10 tail +TERM; " + beside)
		s.Worker = p.PID
		if got := s.works(&p, unix.SIGTERM); got != want {
			t.Errorf("a helper beside %q: %v, want %v", beside, got, want)
		}
	}
}

func TestLacksHandler(t *testing.T) {
	rows.Compare(t, "testdata/handlers.tsv", 3, func(row []string) any {
		p := made(row[0])
		lacks, certain := lacksHandler(&p, unix.SignalNum("SIG"+row[1]))
		switch {
		case lacks && certain:
			return "lacks one"
		case lacks:
			return "may lack one"
		}
		return ""
	})
}

// The advice to send another signal names the one that came, and one that the program is known to drain on.
func TestDeath(t *testing.T) {
	for _, tt := range []struct {
		died string
		came unix.Signal
		by   unix.Signal
		want string
	}{
		{"app +QUIT", unix.SIGTERM, unix.SIGTERM, "has no terminated handler: --rewrite TERM:QUIT"},
		{"app +QUIT", unix.SIGHUP, unix.SIGHUP, "has no hangup handler: --rewrite HUP:QUIT"},
		{"app +TERM +QUIT", unix.SIGINT, unix.SIGINT, "has no interrupt handler: --rewrite INT:TERM"},
		{"node app.js +TERM", unix.SIGINT, unix.SIGINT, "has no interrupt handler: --rewrite INT:TERM"},
		{"node app.js +TERM +INT", unix.SIGTERM, unix.SIGTERM, "ended at once: --rewrite TERM:SIG"},
		{"app +ALL", unix.SIGTERM, unix.SIGINT, "ended at once: --rewrite TERM:SIG"}, // in Go, by a rewrite
		{"app +TERM", unix.SIGTERM, unix.SIGTERM, ""},
	} {
		s, cause := begun(tt.died), forward.Cause{By: tt.by}
		s.Came, cause.Stop, cause.Process = tt.came, true, made(tt.died)
		first, last, _ := strings.Cut(tt.want, ": ")
		got, _, _ := strings.Cut(words(s.Death(cause, "ended")), "|")
		if !strings.Contains(got, first) || !strings.HasSuffix(got, last) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.died, got, tt.want)
		}
		cause.Tick = s.Began + 110
		for _, l := range s.Death(cause, "ended") {
			if l.Loss == "" {
				t.Errorf("%s, in time: %+v", tt.died, l)
			}
		}
		cause.Tick++
		late := s.Death(cause, "ended")
		for _, l := range late {
			if l.Loss != "" || l.Of != cause.Process.Comm {
				t.Errorf("%s: %+v", tt.died, l)
			}
		}
		for ms, lines := range map[time.Duration]int{100: len(late), 110: 0} {
			cause.After = ms * time.Millisecond
			if got := s.Death(cause, "ended"); len(got) != lines {
				t.Errorf("%s, after %v: %v", tt.died, cause.After, got)
			}
		}
	}
}

// No signal reaches a drainit whose parent is a shell, below processes that keep signals alone.
func TestAbove(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "sh": 1, "sh; 11<10 node /bin/npm": 1, "go run .; 11<10 sh": 0,
	} {
		var above []proc.Process
		for _, p := range snapshot(text).Descendants(1) {
			above = append(above, *p)
		}
		if got := Above(above); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A process at work that ignores what it was sent has a line.
func TestSent(t *testing.T) {
	for text, want := range map[string]int{
		"node": 0, "node =TERM": 1, "node =INT": 0, "sh =TERM": 1, "node =TERM; 11<10 app +TERM": 0,
	} {
		d := forward.Delivery{Process: made(strings.Split(text, ";")[0]), Signal: unix.SIGTERM}
		if got := begun(text).Sent([]forward.Delivery{d}); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A process that has the stop signal pending when drainit has sent none shows that the platform signals each.
// Then a death proves nothing.
func TestPending(t *testing.T) {
	for _, blocked := range []bool{false, true} {
		for _, pending := range []unix.Signal{unix.SIGTERM, unix.SIGHUP} {
			p := made("node")
			if p.Pending = signals.SetOf(pending); blocked {
				p.Blocked = p.Pending
			}
			s := begun("node")
			s.Start = proc.New([]proc.Process{p})
			c := forward.Cause{By: unix.SIGTERM, Delivery: forward.Delivery{Process: p, Stop: true}}
			c.Process.Blocked = 0
			isSign := pending == unix.SIGTERM && !blocked
			if got := s.Pending(1); (got != nil) != isSign {
				t.Errorf("%v, blocked %v: %v", pending, blocked, got)
			}
			if got := s.Death(c, "ended"); (got == nil) != isSign {
				t.Errorf("%v, blocked %v, and a death: %v", pending, blocked, got)
			}
		}
	}
}

// What has ended at once, and is another's child, has a line if a shell may have ended it, or the worker has
// ended by the signal.
func TestGone(t *testing.T) {
	for _, tt := range []struct {
		before, now string
		byIt        bool
		want        string
	}{
		{"sh +TERM; 11<10 job", "sh +TERM", false, "debug"},
		{"sh +TERM; 11<10 job", "sh +TERM", true, "warn"},
		{"sh +TERM; 11<10 job", "sh +TERM; 11<10 job", true, ""},
		{"sh +TERM; 11<10 job", "sh +TERM; 11<10 job dead", true, "warn"},
		{"sh +TERM; 11<10 job", "sh +TERM; 11<1 job dead", true, ""}, // drainit's, to be waited for
		{"app +TERM; 11<10 job", "app +TERM", false, ""},
		{"app +TERM; 11<10 job", "", true, "warn"},
		{"app +TERM; 11<10 job +TERM", "", true, ""},
	} {
		s, h, got := begun(tt.before), forward.NewHistory(1, false), ""
		s.Reaped(workerPID)
		for _, l := range s.Gone(snapshot(tt.now), s.Began+20, h, 1, tt.byIt) {
			got = l.Level.Level.String()
		}
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
		if late := s.Gone(nil, s.Began+21, h, 1, true); late != nil {
			t.Errorf("%+v, later: %v", tt, late)
		}
		s.Reaped(11)
		if left := s.Gone(nil, s.Began, h, 1, true); left != nil {
			t.Errorf("%+v, waited for: %v", tt, left)
		}
	}
}
