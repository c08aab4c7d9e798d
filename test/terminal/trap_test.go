package terminal

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
)

// trapApp is a job that drains on the first INT or TERM, and says of each what it got. It rests, or wakes
// up every 20 ms.
const trapApp = `$| = 1; my $n = 0;
$SIG{INT} = $SIG{TERM} = sub { print "app got $_[0]\n"; $n++ };
print "ready\n";
select undef, undef, undef, $ENV{BUSY} ? 0.02 : 3600 until $n;
select undef, undef, undef, 0.3;
print "app done\n"; exit 0`

// trapForms are scripts with a clean-up for Ctrl-C, and with none, and their exit statuses.
var trapForms = map[string]struct {
	script string
	status int // -1 for that of the shell
}{
	"no trap, background": {`perl app.pl & wait $!; exit 3`, -1},
	"no trap, foreground": {`perl app.pl; exit 3`, -1},
	"no trap, loop":       {`while :; do perl app.pl; done`, -1},
	"background with wait": {`trap 'echo cleaned up; kill $c' INT; perl app.pl & c=$!; wait $c; wait ` +
		`$c; exit 3`, 3},
	"loop": {`trap 'echo cleaned up; kill $c' INT; perl app.pl & c=$!; while kill -0 $c ` +
		`2>/dev/null; do sleep 5; done; exit 3`, 3},
	"foreground": {`trap 'echo cleaned up' INT; perl app.pl; exit 3`, 3},
	"EXIT":       {`trap 'echo cleaned up' EXIT; perl app.pl; exit 3`, -1},
}

// A script's clean-up for Ctrl-C runs, once, and the job is signalled once and is done. Without an init,
// dash, busybox, yash and zsh run no trap for EXIT when they die of INT. mksh handles TERM without any
// trap, so that a trap for INT alone can't be known, and what zsh waits for can't: they are sent TERM. By
// a trap for EXIT a shell handles TERM, too, so that it may have signalled its job, which waits for the
// last call if it is busy. The whole is go test ./test/terminal -run CleanUpForInterrupt -traps.
func TestCleanUpForInterruptRuns(t *testing.T) {
	shells := []string{"bash", "dash", "busybox sh", "ksh93", "zsh", "yash", "mksh"}
	for n, shell := range shells[:harness.Of(len(shells), 2)] {
		for form := range trapForms {
			for i, mode := range []string{"PID 1", "not PID 1", "terminal"} {
				for _, busy := range []bool{false, true} {
					name := fmt.Sprintf("%s/%s/%s/busy %v", shell, form, mode, busy)
					if !*allTraps && busy != ((i+n)%2 == 0) || !harness.Row(name) {
						continue
					}
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						interruptTrap(t, shell, form, mode, busy)
					})
				}
			}
		}
	}
}

// allTraps has each row idle and busy, in place of one of the two.
var allTraps = flag.Bool("traps", false,
	"run each script with a trap for INT with a job that rests, and with a busy one")

// cleansUp reports whether the clean-up of a form of trapForms runs in a shell.
func cleansUp(shell, form string) bool {
	switch {
	case strings.HasPrefix(form, "no trap"):
		return false
	case form == "EXIT":
		return slices.Contains([]string{"bash", "ksh93", "mksh"}, shell)
	}
	return shell != "mksh" && (shell != "zsh" || form == "background with wait")
}

func interruptTrap(t *testing.T, shell, form, mode string, busy bool) {
	words := append(strings.Fields(shell), "start.sh")
	harness.Need(t, words[0], "perl")
	l := harness.Launch{Dir: t.TempDir(), NoPID1: mode != "PID 1",
		Args: append([]string{"-t", "20s", "--"}, words...)}
	harness.WriteFile(t, l.Dir+"/app.pl", trapApp)
	harness.WriteFile(t, l.Dir+"/start.sh", trapForms[form].script+"\n")
	if busy {
		l.Env = []string{"BUSY=1"}
	}
	var shown string
	var status int
	if mode == "terminal" {
		l.Bin, l.Args = "bash", harness.Words("--norc --noprofile --noediting -i")
		c := console.At(t, l)
		c.WantPrompt(0)
		c.Enter("drainit -t 20s -- " + strings.Join(words, " "))
		c.See(`ready\r?\n`)
		c.WaitAtRest(500 * time.Millisecond)
		c.Keys("\x03")
		status = c.Prompt()
		shown = c.Stdout.Text()
	} else {
		p := harness.Run(t, l)
		p.WaitOut(`ready`)
		p.WaitAtRest(500 * time.Millisecond)
		p.Signal(unix.SIGINT)
		status, shown = p.Wait(), p.Out()+p.Err()
	}
	count := func(words string) int { return strings.Count(shown, words) }
	one, cleans := map[bool]int{true: 1}, cleansUp(shell, form)
	starts := 1
	if form == "no trap, loop" && count("ready") == 2 { // the shell goes on, and starts the job anew
		starts = 2
	}
	if count("cleaned up") != one[cleans] || count("ready") != starts || count("app got") != starts ||
		count("app done") != starts {
		t.Errorf("want a clean-up: %v\n%s", cleans, shown)
	}
	if strings.Contains(shown, "only now") && form != "EXIT" {
		t.Errorf("it is signalled late:\n%s", shown)
	}
	if want := trapForms[form].status; cleans && want >= 0 && status != want {
		t.Errorf("exit status %d, want %d", status, want)
	}
}
