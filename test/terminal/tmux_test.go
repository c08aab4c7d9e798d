package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// pane is a terminal in tmux(1), whose screen can be looked at: what is shown is
// what a person sees, after every movement of the cursor.
type pane struct {
	t      *testing.T
	socket string
	server *harness.Init
}

// openPane starts an interactive bash in a tmux of the test's own.
func openPane(t *testing.T) *pane {
	t.Helper()
	harness.Need(t, "tmux", "bash")
	dir, err := os.MkdirTemp("", "drainit-tmux-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &pane{t: t, socket: filepath.Join(dir, "s")}
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	p.server = harness.Run(t, harness.Launch{Bin: tmux, NoPID1: true,
		Args: []string{"-D", "-S", p.socket, "-f", "/dev/null"},
		Env:  []string{"TERM=xterm", "HOME=" + dir, "LC_ALL=C.UTF-8", "HISTFILE="}})
	harness.WaitUntil(t, "tmux listens", func() bool { _, err := os.Stat(p.socket); return err == nil })
	p.tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", harness.NewHome(t),
		"env", "PS1=% ", "PATH="+filepath.Dir(harness.DrainitBin)+":/usr/bin:/bin:/usr/sbin:/sbin", "bash", "--norc", "--noprofile", "-i")
	p.see(`^%$`)
	return p
}

// tmux runs one of its commands.
func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// screen is what the pane shows, without the space that fills it up.
func (p *pane) screen() string {
	p.t.Helper()
	var lines []string
	for line := range strings.Lines(p.tmux("capture-pane", "-p")) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// see waits until the screen matches, and returns it.
func (p *pane) see(pattern string) (screen string) {
	p.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	again := time.Now().Add(5 * time.Second)
	for deadline := time.Now().Add(harness.Patience); ; time.Sleep(20 * time.Millisecond) {
		if screen = p.screen(); re.MatchString(screen) {
			return screen
		}
		if strings.HasPrefix(pattern, "Stopped") && time.Now().After(again) {
			p.keys("C-z") // less misses the one that comes right before it reads
			again = time.Now().Add(5 * time.Second)
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%q is not on the screen, which is\n%s", pattern, screen)
		}
	}
}

// keys types, a name of tmux's such as C-z or text.
func (p *pane) keys(keys string) {
	p.t.Helper()
	if regexp.MustCompile(`^(C-.|Enter|Escape)$`).MatchString(keys) {
		p.tmux("send-keys", keys)
		return
	}
	p.tmux("send-keys", "-l", keys)
}

// step is what a person types, and what is then on the screen, by what is drawn last.
type step struct {
	keys []string
	see  string
}

// waitFront waits until a program leads the foreground group, and is not stopped.
func (p *pane) waitFront(comm string) {
	p.t.Helper()
	shell := numberIn(p.t, p.tmux("display-message", "-p", "#{pane_pid}"))
	harness.WaitUntil(p.t, comm+" has the terminal", func() bool {
		front := harness.TaskOf(harness.TaskOf(shell).Front)
		return front.Comm == comm && front.State != 'T'
	})
}

// inTmux are sessions whose screens are the same under drainit.
var inTmux = map[string][]step{
	"less": {
		{[]string{"UNDERless lines", "Enter"}, `^lines$`},
		{[]string{"G"}, `^\(END\)$`},
		{[]string{"C-z"}, `Stopped(?s:.*)\n%$`},
		{[]string{"fg", "Enter"}, `^\(END\)$`},
		{[]string{"g"}, `^:$`},
		{[]string{"q"}, `\n%$`},
		{[]string{"echo status $?", "Enter"}, `^status 0\n%$`},
	},
	"shells": {
		{[]string{"UNDERenv PS1=inner% bash --norc", "Enter"}, `^inner%$`},
		{[]string{"sleep 1000", "Enter"}, "sleep 1000$"},
		{[]string{"C-z"}, `^\[1\]\+  Stopped(?s:.*)\ninner%$`},
		{[]string{"bg; jobs", "Enter"}, `^\[1\]\+  Running(?s:.*)\ninner%$`},
		{[]string{"fg", "Enter"}, "fg\nsleep 1000$"},
		{[]string{"C-c"}, `\^C\ninner%$`},
		{[]string{"suspend", "Enter"}, `Stopped +(drainit -- )?env(?s:.*)\n%$`},
		{[]string{"fg", "Enter"}, `fg\n(drainit -- )?env.*\ninner%$`},
		{[]string{"exit 5", "Enter"}, `exit\n%$`},
		{[]string{"echo status $?", "Enter"}, `^status 5\n%$`},
	},
}

// silent are the programs that show nothing when they run, by what the screen shows
// when they are about to: keys in between may get lost.
var silent = map[string]string{"sleep 1000$": "sleep", "fg\nsleep 1000$": "sleep"}

func TestTTYScreensInTmux(t *testing.T) {
	t.Parallel()
	for name, steps := range inTmux {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alone, under := openPane(t), openPane(t)
			for _, s := range steps {
				for _, keys := range s.keys {
					alone.keys(strings.ReplaceAll(keys, "UNDER", ""))
					under.keys(strings.ReplaceAll(keys, "UNDER", "drainit -- "))
				}
				want := alone.see(s.see)
				got := strings.ReplaceAll(under.see(s.see), "drainit -- ", "")
				if program, ok := silent[s.see]; ok {
					alone.waitFront(program)
					under.waitFront(program)
				}
				if got != want {
					t.Fatalf("after %q the screen is\n%s\n\nand without drainit\n%s", s.keys, got, want)
				}
			}
		})
	}
}
