package tree

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/test/harness"
)

// eightShells are those in which the forms of commands were tried, by their program.
var eightShells = map[string][]string{
	"bash": {"bash"}, "dash": {"dash"}, "ksh93": {"ksh93"}, "mksh": {"mksh"}, "lksh": {"lksh"},
	"yash": {"yash"}, "zsh": {"zsh"},
	"posh": {"posh"}, "busybox": {"busybox", "sh"},
}

// background are forms of commands in the background, each app with a name of its own.
var background = []string{
	"app a1 & app a2 & app a3 & wait; wait; wait",
	"f() { app a1 & app a2 & wait; wait; }; f",
	"if true; then app a1 & app a2 & fi; wait; wait",
	"for i in 1 2; do app a$i & done; wait; wait",
	"app a1 | cat & app a2 | cat & wait; wait",
	"( trap exit TERM; app a1; true ) & wait",
	"( trap exit TERM; app a1 & wait ) & wait",
	"( app a1 ) & ( app a2 ) & wait; wait",
	"{ app a1; } & { app a2; } & wait; wait",
	"( cd / && app a1 ) & ( cd / && app a2 ) & wait; wait",
	"case x in x) ( app a1 ) & ( app a2 ) & ;; esac; wait; wait",
	"app a1 <&0 & wait",
	"( app a1 <&0 ) & wait",
	"( app a1 ) <&0 & wait",
	"env X=1 app a1 & wait",
	"nohup app a1 & wait",
	"eval 'app a1 & app a2 &'; wait; wait",
	"true && app a1 & wait",
	"true && ( app a1 ) & wait",
	"! app a1 & wait",
	"while :; do app a1; break; done & wait",
	"sh -c 'app a1; true' & wait",
	"set -m; app a1 & wait",
	"app a1 & app f1; wait",
	"f() { exec app a1; }; f <&0 & wait",
	"for i in 1; do app a$i; done <&0 & wait",
	"if true; then app a1; fi <&0 & wait",
	"( trap - INT QUIT; exec app a1 ) <&0 & wait",
	"exec 3<&0; coproc app a1 <&3; wait",
}

// limits are the forms of bash that can't be told from the foreground, by what app does. docs/signals.md
// names each.
var limits = map[string][]string{
	"( app a1 ) <&0 & wait":                       anyApp,
	"f() { exec app a1; }; f <&0 & wait":          anyApp,
	"( trap - INT QUIT; exec app a1 ) <&0 & wait": anyApp,
	"exec 3<&0; coproc app a1 <&3; wait":          anyApp,
	"app a1 <&0 & wait":                           anyApp[1:],
}

var anyApp = []string{"plain", "resets", "hides its marks"}

// foreground are forms of a command in the foreground.
var foreground = []string{
	"app f1; true",
	"( app f1; true ); true",
	"f() { app f1; true; }; f; true",
	"if app f1; then :; fi; true",
	"for i in 1; do app f$i; done; true",
	"app f1 | cat; true",
	"while :; do app f1; done; true",
	"eval 'app f1; true'; true",
	"sh -c 'app f1; true'; true",
	"x=$(app f1); true",
	"while read l; do :; done < <(app f1); true",
}

// only are the shells that know a word of a form, or a form without a terminal.
var only = map[string][]string{
	"coproc": {"bash"},
	"< <(":   {"bash", "zsh", "ksh93"},
	"set -m": {"bash", "dash", "ksh93", "mksh", "lksh", "yash", "busybox"},
}

func knows(shell, form string) bool {
	for word, shells := range only {
		if strings.Contains(form, word) && !slices.Contains(shells, shell) {
			return false
		}
	}
	return true
}

// A command in the background is never called one in the foreground, but in the forms of limits: what a
// shell's trap may signal would be signalled twice. A command in the foreground is known as such, if the
// shell's own input is no /dev/null that was opened to read.
func TestForegroundOfShells(t *testing.T) {
	harness.Need(t, "perl")
	for shell, command := range eightShells {
		for _, app := range anyApp {
			if !harness.Row(shell + app) {
				continue
			}
			t.Run(shell+", "+app, func(t *testing.T) {
				t.Parallel()
				harness.Need(t, command[0])
				bin := appThat(t, app)
				for _, form := range background {
					if !knows(shell, form) {
						continue
					}
					for name, is := range places(t, bin, command, form, unix.O_RDWR) {
						limit := shell == "bash" && slices.Contains(limits[form], app)
						if is && name[0] == 'a' && !limit {
							t.Errorf("%s is in the background, and was called one in the foreground: %s",
								name, form)
						}
					}
				}
				for _, form := range foreground {
					if !knows(shell, form) {
						continue
					}
					leftOfPipe := strings.Contains(form, "|") &&
						slices.Contains([]string{"mksh", "lksh", "posh"}, shell)
					subshell := strings.HasPrefix(form, "( ") && shell == "bash"
					notKnown := leftOfPipe || subshell || shell == "zsh" || strings.Contains(form, "< <(")
					if !places(t, bin, command, form, unix.O_RDWR)["f1"] && app == "plain" && !notKnown {
						t.Errorf("it is in the foreground, which is not known: %s", form)
					}
					if places(t, bin, command, form, unix.O_RDONLY)["f1"] {
						t.Errorf("nothing shows where it is, and it was called one in the foreground: %s",
							form)
					}
				}
			})
		}
	}
}

// appThat makes an app that tells its name on standard error. It is plain, or sets INT and QUIT to their
// defaults, or has handlers for them.
func appThat(t *testing.T, does string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	handlers := map[string]string{"resets": "$SIG{INT} = $SIG{QUIT} = 'DEFAULT';",
		"hides its marks": "$SIG{INT} = $SIG{QUIT} = sub { };"}[does]
	text := "#!" + harness.PathOf(t, "perl") + "\n" + handlers +
		"syswrite STDERR, qq($ARGV[0]\\n); sleep 60 while 1\n"
	harness.WriteProgram(t, dir, "app", 0o755, text)
	return dir
}

// places runs a form, and returns for each app whether it is in the foreground of the shell, itself or by the
// process above it.
func places(t *testing.T, bin string, shell []string, form string, mode int) map[string]bool {
	t.Helper()
	input, err := os.OpenFile("/dev/null", mode, 0)
	harness.Must(t, err)
	defer input.Close()
	r, w, err := os.Pipe()
	harness.Must(t, err)
	defer r.Close()
	harness.Must(t, r.SetReadDeadline(time.Now().Add(harness.Patience)))
	cmd := exec.Command(shell[0], append(shell[1:], "-c", "trap : TERM\n"+form)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, nil, w
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	harness.Must(t, cmd.Start())
	w.Close()
	defer cmd.Wait()
	defer endAll(cmd.Process.Pid)
	all := make(map[string]bool)
	lines := bufio.NewReader(r)
	for want := strings.Count(form, "app ") + strings.Count(form, "1 2"); len(all) < want; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			t.Fatalf("it ended: %s", form)
		}
		harness.Must(t, err)
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "a") || strings.HasPrefix(name, "f") {
			all[name] = false
		}
	}
	var is map[string]bool
	harness.WaitUntil(t, "the shell waits", func() bool {
		is = placesIn(t, cmd.Process.Pid, all, strings.Count(form, "| cat"))
		return is != nil
	})
	return is
}

// placesIn is that of one snapshot, nil where a process does not sleep yet, or a reader is not there.
func placesIn(t *testing.T, shell int, names map[string]bool, cats int) map[string]bool {
	t.Helper()
	s, err := new(proc.Reader).Tree(os.Getpid(), nil, time.Minute)
	if errors.Is(err, proc.ErrNoAnswer) { // on a busy machine
		return nil
	}
	harness.Must(t, err)
	is := make(map[string]bool)
	for _, p := range s.Descendants(shell) {
		if !p.Call.Sleeps {
			return nil
		}
		if p.Exe == "cat" || p.Exe == "busybox" && slices.Contains(p.Args, "cat") {
			cats--
		}
		name := ""
		if len(p.Args) > 0 {
			name = p.Args[len(p.Args)-1]
		}
		if _, known := names[name]; !known || p.Comm != "app" {
			continue
		}
		for p.PPID != shell {
			up, ok := s.Process(p.PPID)
			if !ok {
				return nil
			}
			p = &up
		}
		top, _ := s.Process(shell)
		is[name] = program.InForeground(s, p, &top)
	}
	if len(is) < len(names) || cats > 0 {
		return nil
	}
	return is
}

// endAll ends a process and all below it.
func endAll(pid int) {
	all, _ := new(proc.Reader).All()
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for _, p := range all.Descendants(pid) {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
}
