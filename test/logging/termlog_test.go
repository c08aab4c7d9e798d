package logging

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// ignorant is a worker that only SIGKILL ends.
const ignorant = `$SIG{TERM} = "IGNORE"; say "ready $$"; forever`

func term(p *harness.Init) { p.Signal(syscall.SIGTERM) }

// termTwice is a person's second stop signal, and no double delivery.
func termTwice(p *harness.Init) {
	p.Signal(syscall.SIGTERM)
	p.WaitErr(`what still runs after`)
	harness.PastTheSameRequest()
	p.Signal(syscall.SIGTERM)
}

// killWorker sends a signal to the worker, from outside.
func killWorker(sig syscall.Signal) func(p *harness.Init) {
	return func(p *harness.Init) {
		harness.Kill(p.T, p.ReadyPid(`^ready`), sig)
	}
}

// deaths are ends of drainit, and what the termination message says of each:
// nothing where the exit status says it all.
var deaths = []struct {
	name   string
	flags  []string
	worker string
	end    func(p *harness.Init)
	status int
	says   string
}{
	{"grace over", []string{"--grace=300ms"}, ignorant, term, 137, `^stopped after (0\.[3-9]|[1-9][\d.m]*)s: killed perl\[\d+\] \(grace period of 300ms over\); exit status 137$`},
	{"grace over, by INT", []string{"--grace=300ms"}, `$SIG{INT} = "IGNORE"; say "ready $$"; forever`,
		func(p *harness.Init) { p.Signal(syscall.SIGINT) }, 137, `^stopped after (0\.[3-9]|[1-9][\d.m]*)s: killed perl\[\d+\] \(grace period of 300ms over\); exit status 137$`},
	{"no grace", []string{"--grace=0"}, ignorant, term, 137, `^stopped after [\d.m]+s: killed perl\[\d+\] \(grace period of 0s over\); exit status 137$`},
	{"grace over, twelve are left", []string{"--grace=300ms"},
		`$SIG{TERM} = "IGNORE"; spawn { forever } for 1 .. 11; say "ready $$"; forever`, term, 137,
		`^stopped after (0\.[3-9]|[1-9][\d.m]*)s: killed perl\[\d+\], (perl\[\d+\],? ?){9} and 2 more \(grace period of 300ms over\); exit status 137$`},
	{"grace over, one is left", []string{"--grace=300ms"},
		`$SIG{TERM} = sub { exit 3 }; spawn { $SIG{TERM} = "IGNORE"; say "ready $$"; forever }; forever`, term, 3,
		`^stopped after (0\.[3-9]|[1-9][\d.m]*)s: perl\[\d+\] exited with status 3; killed perl\[\d+\] \(grace period of 300ms over\)$`},
	{"grace over, no stop signal", []string{"--grace=300ms"},
		`$SIG{TERM} = "IGNORE"; spawn { say "ready $$"; forever }; exit 4`, func(*harness.Init) {}, 4,
		`^stopped (0\.[3-9]|[1-9][\d.m]*)s after perl\[\d+\] exited with status 4; killed perl\[\d+\] \(grace period of 300ms over\)$`},
	{"forced", []string{harness.LongGrace}, ignorant, termTwice, 137, `^stopped after [\d.m]+s: killed perl\[\d+\] \(second stop signal, force-stop\); exit status 137$`},
	{"killed from outside", []string{harness.LongGrace}, ignorant, killWorker(syscall.SIGKILL), 137,
		`^perl\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory, or a kill from outside$`},
	{"crashed", []string{harness.LongGrace}, ignorant, killWorker(syscall.SIGABRT), 134,
		`^perl\[\d+\] was killed by SIGABRT, which drainit did not send: it came from the worker itself, or from outside$`},
	{"killed from outside in a drain", []string{harness.LongGrace}, ignorant,
		func(p *harness.Init) { term(p); p.WaitErr(`what still runs after`); killWorker(syscall.SIGKILL)(p) }, 137,
		`^perl\[\d+\] was killed by SIGKILL, which drainit did not send: `},
	{"killed from outside, and a leftover drains", []string{harness.LongGrace},
		`$SIG{TERM} = sub { exit 0 }; spawn { forever }; say "ready $$"; forever`, killWorker(syscall.SIGKILL), 137,
		`^perl\[\d+\] was killed by SIGKILL, which drainit did not send: `},

	{"success", nil, `exit 0`, func(*harness.Init) {}, 0, ``},
	{"failure", nil, `exit 1`, func(*harness.Init) {}, 1, ``},
	{"failure as if killed", nil, `exit 137`, func(*harness.Init) {}, 137, ``},
	{"drained in time", []string{harness.LongGrace}, `$SIG{TERM} = sub { exit 3 }; say "ready $$"; forever`, term, 3, ``},
	{"killed by the stop signal", []string{harness.LongGrace}, `say "ready $$"; forever`, term, 143, ``},
	{"killed by a signal passed on", []string{harness.LongGrace}, `say "ready $$"; forever`, func(p *harness.Init) { p.Signal(syscall.SIGUSR1) }, 138, `died of SIGUSR1, which drainit forwarded: it has no handler for it$`},
	{"quiet, then drained", []string{harness.LongGrace}, `$SIG{TSTP} = sub { say "quiet" }; $SIG{TERM} = sub { exit 0 }; say "ready $$"; forever`,
		func(p *harness.Init) { p.Signal(unix.SIGTSTP); p.WaitOut(`^quiet`); term(p) }, 0, ``},
	{"leftovers that drain", []string{harness.LongGrace}, `$SIG{TERM} = sub { nap 0.3; exit 0 }; say "ready $$"; spawn { forever }; exit 4`,
		func(*harness.Init) {}, 4, ``},
}

func TestTerminationMessageSaysWhatTheStatusDoesNot(t *testing.T) {
	harness.Need(t, "perl")
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				file := harness.EmptyFile(t)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(append([]string{"--termination-log", file}, d.flags...), harness.Script(d.worker)...)})
				if strings.Contains(d.worker, `"ready`) {
					p.WaitOut(`^ready`)
				}
				d.end(p)
				p.WantExit(d.status)
				harness.WantLastMessage(t, file, d.says)
			})
		})
	}
}

// What the log says of a worker that can't be started is the message, too.
func TestTerminationMessageOfAWorkerThatDoesNotStart(t *testing.T) {
	dir := harness.CannotRun(t)
	for name, tt := range map[string]struct {
		command string
		status  int
		says    string
	}{
		"not found":      {"nosuch", 127, `^cannot run "nosuch": not found in PATH`},
		"no such file":   {dir + "/nosuch", 127, `nosuch`},
		"not executable": {dir + "/not-executable", 126, `not-executable`},
		"no interpreter": {dir + "/no-interpreter", 126, `no-interpreter exists, but not the interpreter`},
	} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				file := harness.EmptyFile(t)
				// A folder in PATH that may not be searched would make it "not permitted".
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Env: []string{"PATH=/usr/bin:/bin"},
					Args: []string{"--termination-log", file, "--log-format=text", "--", tt.command}})
				if r.Status != tt.status {
					t.Errorf("exit status %d, want %d", r.Status, tt.status)
				}
				harness.WantLastMessage(t, file, tt.says)
				b, err := os.ReadFile(file)
				if want := strings.TrimSuffix(strings.TrimPrefix(r.Err, "drainit: error: "), "\n"); err != nil || string(b) != want {
					t.Errorf("the message is %q, the log says %q", b, want)
				}
			})
		})
	}
}

// A command line that is no good does not start a worker either.
func TestTerminationMessageOfACommandLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"--grace=soon", "--", "true"}, `^--grace: invalid duration "soon": want `},
		{[]string{"--nope", "--", "true"}, `^unknown flag: --nope`},
		{[]string{"--"}, `^there is no COMMAND to run$`},
	} {
		file := harness.EmptyFile(t)
		r := harness.RunToEnd(t, harness.Launch{Args: append([]string{"--termination-log", file}, tt.args...)})
		if r.Status != 125 {
			t.Errorf("%s: exit status %d", tt.args, r.Status)
		}
		harness.WantLastMessage(t, file, tt.says)
	}
}

// drainit is held up on its way to the start, when it hears signals already: at the last thing
// that it does before, until what holds it is killed.
func TestTerminationMessageOfAStopBeforeTheStart(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace")
	file := harness.EmptyFile(t)
	hold := fmt.Sprintf("inject=getppid:delay_enter=%d:when=2", (2 * harness.Patience).Microseconds())
	p := harness.Run(t, harness.Launch{NoPID1: true, Trace: []string{"-f", "-b", "execve", "-o", os.DevNull, "-e", "trace=getppid", "-e", hold},
		Args: []string{"--parent-death-signal=SIGTERM", "--termination-log", file, "--log-format=text", "--", "sleep", "1000"}})
	harness.WaitUntil(t, "drainit hears signals", func() bool { // it hears TSTP last
		return harness.Comm(p.Pid()) == "drainit:start" && harness.SignalMask(t, p.Pid(), "SigCgt")&(1<<(unix.SIGTSTP-1)) != 0
	})
	p.Signal(unix.SIGTERM)
	harness.WaitUntil(t, "drainit takes the signal", func() bool {
		return (harness.SignalMask(t, p.Pid(), "SigPnd")|harness.SignalMask(t, p.Pid(), "ShdPnd"))&(1<<(unix.SIGTERM-1)) == 0
	})
	p.WaitAtRest(harness.Patience)
	harness.Kill(t, harness.StatusField(t, p.Pid(), "TracerPid"), unix.SIGKILL)
	p.WantExit(143)
	p.WantLogged(`before the start`, 1)
	harness.WantLastMessage(t, file, `^SIGTERM came before the start: the worker is not started$`)
}

// The application knows better, and FallbackToLogsOnError goes by an empty file.
func TestTerminationMessageOfTheWorkerIsLeftAlone(t *testing.T) {
	harness.Need(t, "perl")
	for name, message := range map[string]string{"a text": "out of stock", "one byte": "\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := harness.EmptyFile(t)
			p := harness.Start(t, harness.Line([]string{"--grace=300ms", "--termination-log", file}, harness.Script(
				`open my $f, ">", $ARGV[0] or die $!; print $f $ARGV[1]; close $f; `+ignorant, file, message)...)...)
			p.WaitOut(`^ready`)
			p.Signal(syscall.SIGTERM)
			p.WantExit(137)
			if b, err := os.ReadFile(file); err != nil || string(b) != message {
				t.Errorf("%q, %v", b, err)
			}
			p.WantLogged(`termination`, 0)
		})
	}
}

// 4096 bytes are what the kubelet reads; a rune is not cut in two.
func TestTerminationMessageIsCutTo4096Bytes(t *testing.T) {
	for _, before := range []string{"", "x", "xx"} {
		t.Run(fmt.Sprint(len(before)), func(t *testing.T) {
			t.Parallel()
			file := harness.EmptyFile(t)
			name := "./" + before + strings.Repeat("€", 2000)
			r := harness.RunToEnd(t, harness.Launch{Args: []string{"--termination-log", file, "--", name}})
			b, err := os.ReadFile(file)
			if err != nil || r.Status != 126 && r.Status != 127 || len(b) > 4096 || len(b) < 4090 || !utf8.Valid(b) {
				t.Errorf("exit status %d, %v, %d bytes: %q", r.Status, err, len(b), b[max(0, len(b)-20):])
			}
		})
	}
}

// A process that calls itself something forges no second line.
func TestTerminationMessageIsOneLine(t *testing.T) {
	harness.Need(t, "perl")
	for title, name := range harness.HostileNames {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			file := harness.EmptyFile(t)
			p := harness.Run(t, harness.Launch{Args: []string{"--grace=0", "--termination-log", file, "--", "perl", "-e", harness.Renamed, harness.Prctl, name}})
			p.WaitOut(`^ready`)
			p.Signal(syscall.SIGTERM)
			p.WantExit(137)
			harness.WantLastMessage(t, file, `^stopped after [\d.m]+s: killed .+\[\d+\] \(grace period of 0s over\); exit status 137$`)
		})
	}
}
