package workers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// isPlain reports whether the way starts an application in Node, by what needs no Node itself,
// and all rests before the request: then it starts one in Perl as well.
func (w way) isPlain() bool {
	return !w.npm && w.begin == nil && !w.inTurn && w.leaves == 0 && slices.Contains(w.programs, "node") && !strings.HasPrefix(w.name, "node:")
}

// withPerl is the way with the application in Perl, which needs no Node for that.
func (w way) withPerl() way {
	if !w.npm {
		w.programs = slices.DeleteFunc(slices.Clone(w.programs), func(p string) bool { return p == "node" })
	}
	return w
}

// TestMatrixOfPlainApplications has the ways that need no Node with an application in Perl,
// whose job the test ends when its handler has run: all that the matrix says holds of them too.
// The whole of the tests has them with each standard input.
func TestMatrixOfPlainApplications(t *testing.T) {
	harness.Need(t, "perl")
	var late lateRows
	late.wantFew(t)
	for _, w := range ways {
		if !w.isPlain() {
			continue
		}
		w = w.withPerl()
		for _, in := range append([]input{dockers}, w.otherInputs()...) {
			t.Run(strings.ReplaceAll(w.name, "node", "perl")+in.title(), func(t *testing.T) {
				t.Parallel()
				w.need(t)
				if in.set != nil || slices.Contains(longWays, w.name) {
					harness.Full(t)
				}
				s := newScene(t, 0)
				s.input, s.plain = in, true
				late.add(w, w.checkIn(t, s, w.grace))
			})
		}
	}
}

// lateRows counts the rows whose application rests and waits for the last call all the same.
type lateRows struct{ rows, late atomic.Int64 }

func (r *lateRows) add(w way, o outcome) {
	r.rows.Add(1)
	if o.late && !w.late {
		r.late.Add(1)
	}
}

// wantFew checks at the end of a test that they are few: on a busy machine some application is
// still at what its start had it do.
func (r *lateRows) wantFew(t *testing.T) {
	t.Cleanup(func() {
		if late, rows := r.late.Load(), r.rows.Load(); late > 1+rows/50 {
			t.Errorf("%d of %d applications that rest wait for the last call", late, rows)
		}
	})
}

// longWays are those that take seconds, by what stands in them or by the last call: timeout may
// be gone before it can be seen to have passed the signal on.
var longWays = []string{
	"bash: `sleep 2.6 & s=$!`, `node app & c=$!`, `trap 'wait $s; kill $c' TERM`, `wait; wait`",
	"bash: `node app & c=$!`, `trap 'sleep 1; kill $c' TERM`, `wait $c; wait $c`",
	"`su nobody -s /bin/sh -c 'node app; exit $?'`",
	"`timeout --foreground 300 sh -c 'node app; exit $?'`",
	"bash: `trap cleanup TERM; node app | tee log`",
	"perl: a handler that tells nobody around `system('node app')`",
	"Python: a handler that tells nobody around `subprocess.run(['node', 'app'])`",
	"`node app & exec node app`, the first handles SIGTERM,SIGINT,SIGQUIT",
}

// plainApp is app with testdata/matrix/app.pl, and for a job without it a command that waits as
// long.
func (s *scene) plainApp(t *testing.T, e env, f files, command []string) []string {
	t.Helper()
	s.bring(t, "app.pl", "app.pl")
	end := filepath.Join(s.dir, "end")
	if err := syscall.Mkfifo(end, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(end, 0o666); err != nil { // another user may wait for it
		t.Fatal(err)
	}
	s.env = append(s.env, "END="+end)
	for name, value := range e {
		s.env = append(s.env, name+"="+value)
	}
	in := strings.NewReplacer("node app.js", "perl app.pl", `"node", "app.js"`, `"perl", "app.pl"`,
		`sleep "$JOB"`, `perl -e 'open my $end, "<", $ENV{END}'`)
	for name, text := range f {
		s.write(t, name, in.Replace(text))
	}
	words := slices.Clone(command)
	for i, word := range words {
		switch word {
		case "node":
			words[i] = "perl"
		case "app.js":
			words[i] = "app.pl"
		default:
			words[i] = in.Replace(word)
		}
	}
	return words
}

// endJobs ends the jobs when the handlers have run, but for those that do not count, have their
// turn later or rest and wait for the last call, and what would signal one again has had its time.
func (s *scene) endJobs(t *testing.T, w way) {
	t.Helper()
	jobs := max(w.workers, 1)
	if w.inTurn {
		jobs--
	}
	s.init.WaitErr(`what still runs after`)
	harness.WaitUntil(t, "the handlers run", func() bool {
		return w.uncounted || s.count("signalled") >= jobs || !s.busy && undecided.MatchString(s.init.Stderr.Text()) || !s.init.Running()
	})
	s.init.WaitAtRest(500 * time.Millisecond)
	end, err := os.OpenFile(filepath.Join(s.dir, "end"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end.Close() })
}
