package workers

import (
	"slices"
	"testing"
	"time"

	"drainit/test/harness"
)

// busyWays are the starts that each rule decides, by their names. Nothing proves of a busy
// application that it has received no signal: where another process may have signalled it, it
// waits for the last call.
var busyWays = []struct {
	name   string
	tells  int  // how many processes drainit signals; not looked at if 0
	atOnce bool // no other process can have signalled it, or one has: the last call has nothing to do
}{
	// Shells that die of the signal.
	{"`sh -c 'node app; exit $?'`", 2, true},
	{"`sh -c 'sh -c \"node app; exit $?\"; exit $?'`", 3, true},
	{"`sh -c 'node app & node app & wait'`", 3, true},
	{"`sh -c 'node app | tee log'`", 0, true},
	{"`mksh -c 'node app; exit $?'`", 2, false},

	// Shells with a trap that wait for the application.
	{"`dash start.sh`: `trap cleanup TERM; node app`", 2, true},
	{"`sh -c 'dash start.sh; exit $?'`: `trap cleanup TERM; node app`", 3, true},
	{"dash: `trap cleanup TERM; setsid -w node app`", 2, true},
	{"`busybox sh start.sh`: `trap cleanup TERM; node app`", 2, true},
	{"`bash start.sh`: `trap cleanup TERM; node app`", 2, false},
	{"`sh -c 'bash start.sh; exit $?'`: `trap cleanup TERM; node app`", 3, false},
	{"bash: `trap cleanup TERM; setsid -w node app`", 2, false},
	{"bash: `trap cleanup TERM; node app | tee log`", 2, false},
	{"bash: `set -m`, `trap cleanup TERM`, `node app & fg %1`", 2, false},
	{"`mksh start.sh`: `trap cleanup TERM; node app`", 2, false},
	{"`trap '' TERM; node app` in a script", 2, true},

	// Shells with a trap that runs.
	{"bash with `trap 'kill $c' TERM; wait $c`", 1, true},
	{"bash: `set -m`, `node app & c=$!`, `trap 'kill $c' TERM`, `wait $c; wait $c`", 1, true},
	{"bash: `trap \"trap - TERM; kill -- -$$\" INT TERM EXIT`, `node app & wait`", 1, true},
	{"bash: `node app & c=$!`, `trap 'sleep 1; kill $c' TERM`, `wait $c; wait $c`", 1, true},
	{"bash: `trap 'exit 5' TERM`, `node app & wait`", 2, false},

	// Programs above a shell or the application.
	{"perl: signals each process below it and exits, above `sh -c 'node app; exit $?'`", 1, true},
	{"perl: passes TERM on, above `sh -c 'node app; exit $?'`", 2, false},
	{"`timeout 300 sh -c 'node app; exit $?'`", 1, true},
	{"`timeout --foreground 300 sh -c 'node app; exit $?'`", 2, false},
	{"`runuser -u nobody -- sh -c 'node app; exit $?'`", 2, false},
	{"`runsvdir`", 4, false},
	{"`make run`: `node app; exit $?`", 2, false},
	{"`npm start`", 0, false},
	{"`yarn start`", 0, false},
	{"`go run`", 0, false},
	{"Python: `sys.exit` on TERM, `Popen(['node', 'app']).wait()`", 2, false},

	// Several, one after the other.
	{"`node app & exec node app`, the first handles SIGTERM", 2, true},
	{"`node app & exec node app`, the first handles SIGTERM,SIGINT", 2, true},
	{"`node app & exec node app`, the first handles SIGTERM,SIGINT,SIGQUIT", 2, false},
	{"`sh -c 'setsid -f perl daemon; node app; exit $?'`", 3, true},
}

// activities keep an application from resting. Where a thread computes, the main thread rests,
// which takes the signals.
var activities = []struct {
	name, env string
}{
	{"a timer of 10 ms", "TICK=10"},
	{"a timer of 50 ms", "TICK=50"},
	{"a timer of 200 ms", "TICK=200"},
	{"a thread computes", "COMPUTE=1"},
}

// busyGrace has its last call at 7.5 s.
const busyGrace = 10 * time.Second

// TestApplicationsThatNeverRest has an application whose job lasts until it has been signalled:
// once, at the latest by the last call, with a line where it waits for that. The job is done, and
// nothing is killed.
func TestApplicationsThatNeverRest(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl")
	for _, b := range busyWays {
		w := wayOf(t, b.name)
		w.tells = b.tells
		for i, a := range activities {
			t.Run(b.name+", "+a.name, func(t *testing.T) {
				t.Parallel()
				w.need(t)
				if !b.atOnce || i > 0 {
					harness.Full(t)
				}
				s := newScene(t, shortJob)
				s.plain, s.busy = !slices.Contains(w.programs, "go"), true
				s.env = append(s.env, a.env)
				if o := w.checkIn(t, s, busyGrace); o.late && b.atOnce {
					t.Errorf("drainit signalled it in the last call:\n%s", s.init.Stderr.Text())
				}
			})
		}
	}
}

// wayOf is the way of a name. Its application is the one in Perl.
func wayOf(t *testing.T, name string) way {
	t.Helper()
	all := slices.Concat(ways, foundWays)
	i := slices.IndexFunc(all, func(w way) bool { return w.name == name })
	if i < 0 {
		t.Fatalf("no start is %s", name)
	}
	return all[i].withPerl()
}
