package logging

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/test/harness"
)

// deaths are ends of drainit, and what the termination message says of each:
// nothing where the exit status says it all.
var deaths = []struct {
	name   string
	flags  string
	worker string
	end    func(p *harness.Init)
	status int
	says   string
}{
	{"grace over, twelve are left", "--grace=300ms", `$SIG{TERM} = "IGNORE"; spawn { forever } for 1 .. 11; say "ready $$"; forever`, term, 137,
		`^stopped after (0\.[3-9]|[1-9][\d.m]*)s: killed perl\[\d+\], (perl\[\d+\],? ?){9} and 2 more \(grace period of 300ms over\); exit status 137$`},
	{"grace over, one is left", "--grace=300ms", `$SIG{TERM} = sub { exit 3 }; spawn { $SIG{TERM} = "IGNORE"; say "ready $$"; forever }; forever`, term, 3,
		`^stopped after (0\.[3-9]|[1-9][\d.m]*)s: perl\[\d+\] exited with status 3; killed perl\[\d+\] \(grace period of 300ms over\)$`},
	{"forced", harness.LongGrace, `$SIG{TERM} = "IGNORE"; say "ready $$"; forever`, func(p *harness.Init) {
		term(p)
		p.WaitErr(`what still runs after`)
		harness.PastTheSameRequest()
		term(p)
	}, 137, `^stopped after [\d.m]+s: killed perl\[\d+\] \(second stop signal, force-stop\); exit status 137$`},
	{"killed from outside in a drain", harness.LongGrace, `$SIG{TERM} = "IGNORE"; say "ready $$"; forever`, func(p *harness.Init) {
		term(p)
		p.WaitErr(`what still runs after`)
		harness.Kill(p.T, p.ReadyPid(`^ready`), syscall.SIGKILL)
	}, 137, `^perl\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory, its limit of CPU time, or a kill from outside$`},
	{"died of a forwarded signal", harness.LongGrace, `say "ready $$"; forever`, func(p *harness.Init) { p.Signal(syscall.SIGHUP) }, 129,
		`^perl\[\d+\] died of SIGHUP, which drainit forwarded: it has no handler for it\. If the stop`},
	{"died of it by its own hand", harness.LongGrace, `$SIG{HUP} = sub { $SIG{HUP} = "DEFAULT"; kill HUP => $$ }; say "ready $$"; forever`,
		func(p *harness.Init) { p.Signal(syscall.SIGHUP) }, 129, `^perl\[\d+\] died of SIGHUP, which drainit forwarded\. If the stop`},
	{"died of the stop signal", harness.LongGrace, `say "ready $$"; forever`, term, 143, ``},
	{"exited as if killed", harness.LongGrace, `$SIG{TERM} = sub { exit 137 }; say "ready $$"; forever`, term, 137, ``},
}

func term(p *harness.Init) { p.Signal(syscall.SIGTERM) }

func TestTerminationMessageSaysWhatTheStatusDoesNot(t *testing.T) {
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				file := harness.EmptyFile(t)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--termination-log", file, d.flags}, harness.Script(d.worker)...)})
				p.WaitOut(`^ready`)
				d.end(p)
				p.WantExit(d.status)
				harness.WantLastMessage(t, file, d.says)
			})
		})
	}
}

// What the log says of a worker that can't be started is the message, too.
func TestTerminationMessageOfAWorkerThatDoesNotStart(t *testing.T) {
	for status, args := range map[int][]string{127: {"--", "nosuch"}, 125: {"--grace=soon", "--", "true"}} {
		file := harness.EmptyFile(t)
		// A folder in PATH that may not be searched would make it "not permitted".
		r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Env: []string{"PATH=/usr/bin:/bin"}, Args: append([]string{"--log-format=text", "--termination-log", file}, args...)})
		first, _, _ := strings.Cut(r.Err, "\n")
		if message := harness.TextOf(t, file); r.Status != status || message == "" || message != strings.TrimPrefix(strings.TrimPrefix(first, "drainit: "), "error: ") {
			t.Errorf("exit status %d, want %d; the message is %q, the log says %q", r.Status, status, message, r.Err)
		}
	}
}

// The file is the kubelet's: it is written where it is there and empty, whatever the worker's
// user, and by no line said to be missing.
func TestTerminationLogByDefault(t *testing.T) {
	harness.NeedRoot(t)
	const killed = `^stopped after [\d.m]+s: killed worker\[\d+\] \(grace period of 0s over\)`
	for name, tt := range map[string]struct {
		before string // "-": there is none
		uid    int
		args   []string
		env    []string
		says   string
	}{
		"there":                   {says: killed},
		"there, plain user":       {uid: harness.PlainUser, says: killed},
		"written before":          {before: "mine", says: `^mine$`},
		"missing":                 {before: "-"},
		"turned off":              {args: []string{"--termination-log="}},
		"turned off by two words": {args: []string{"--termination-log", ""}},
		"turned off by variable":  {env: []string{"DRAINIT_TERMINATION_LOG="}},
		"another file":            {args: []string{"--termination-log=dev/other"}, env: []string{"DRAINIT_TERMINATION_LOG=/dev/termination-log"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := harness.Scratch(t)
			file, other := filepath.Join(root, "dev/termination-log"), filepath.Join(root, "dev/other")
			harness.WriteFile(t, other, "")
			if tt.before != "-" {
				harness.WriteFile(t, file, strings.TrimPrefix(tt.before, "-"))
				harness.Must(t, os.Chmod(file, 0o666)) // as the kubelet does
			}
			p := harness.Run(t, harness.Launch{Bin: "/drainit", Setup: harness.Setup{Root: root, UID: tt.uid}, Env: tt.env,
				Args: append(tt.args, "--grace=0", "--", "/worker", "listen")})
			p.WaitOut(`^ready`)
			p.Signal(syscall.SIGTERM)
			p.WantExit(137)
			p.WantLogged("termination message", 0)
			if name == "another file" {
				harness.WantLastMessage(t, other, killed)
			}
			if tt.before != "-" {
				harness.WantLastMessage(t, file, tt.says)
			} else if _, err := os.Lstat(file); !os.IsNotExist(err) {
				t.Errorf("it was made: %v", err)
			}
		})
	}
}

// One line at the start says that the message can't be written, and no other when there is one.
func TestTerminationLogThatCannotBeWrittenIsAWarning(t *testing.T) {
	for command, status := range map[string]int{"exit 1": 1, "kill -ABRT $$": 128 + int(unix.SIGABRT)} {
		p := harness.Run(t, harness.Launch{NoPID1: true, Dir: t.TempDir(), Args: []string{"--termination-log=/nowhere/at/all", "--", "sh", "-c", command}})
		p.WantExit(status)
		p.WantLogged(`"level":"warn".*cannot write the termination message to /nowhere/at/all`, 1)
		if lines := harness.JsonLines(t, p.Err()); lines[len(lines)-1]["event"] != "ended" {
			t.Errorf("the last line is not the end:\n%s", p.Err())
		}
	}
}

// What lies where the file should be may be the work of the worker's user, and lead to a file of
// root's: nothing is written through a link, made, or waited for. An empty file is written.
func TestWhatLiesWhereTheTerminationLogShouldBe(t *testing.T) {
	for name, tt := range map[string]struct {
		place func(file, other string) error
		err   string // a part of it, "" for none
	}{
		"an empty file": {func(file, _ string) error { return os.WriteFile(file, nil, 0o600) }, ""},
		"missing":       {func(string, string) error { return nil }, "no such file"},
		"a folder":      {func(file, _ string) error { return os.Mkdir(file, 0o700) }, "is a directory"},
		"a socket":      {func(file, _ string) error { return unix.Mknod(file, unix.S_IFSOCK|0o600, 0) }, "no such device"},
		"a FIFO":        {func(file, _ string) error { return unix.Mkfifo(file, 0o600) }, "no such device"},
		"a FIFO with a reader": {func(file, _ string) error {
			if err := unix.Mkfifo(file, 0o600); err != nil {
				return err
			}
			r, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
			t.Cleanup(func() { r.Close() })
			return err
		}, "not a regular file"},
		"a link to nothing": {func(file, other string) error { return os.Symlink(other+"-2", file) }, "a symbolic link leads to it"},
		"a symbolic link":   {func(file, other string) error { return os.Symlink(other, file) }, "a symbolic link leads to it"},
		"a hard link":       {func(file, other string) error { return os.Link(other, file) }, "it has another name"},
		"a symbolic link for its folder": {func(file, other string) error {
			if err := os.Remove(filepath.Dir(file)); err != nil {
				return err
			}
			return os.Symlink(filepath.Dir(other), filepath.Dir(file))
		}, "a symbolic link leads to it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			harness.Must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
			file, other := filepath.Join(dir, "sub", "termination-log"), filepath.Join(dir, "termination-log")
			harness.WriteFile(t, other, "")
			harness.Must(t, tt.place(file, other))
			written := make(chan error, 1)
			go func() { written <- logx.WriteTerminationLog(file, "why") }()
			var err error
			select {
			case err = <-written:
			case <-time.After(harness.Patience):
				t.Fatal("it waits for a reader")
			}
			if err == nil && tt.err != "" || err != nil && (tt.err == "" || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%v, want %q", err, tt.err)
			}
			harness.WantLastMessage(t, other, "^$")
			if tt.err == "" {
				harness.WantLastMessage(t, file, "^why$")
			}
			if _, err := os.Lstat(other + "-2"); !os.IsNotExist(err) {
				t.Errorf("a file was made: %v", err)
			}
		})
	}
}

// 4096 bytes are what the kubelet reads; a rune is not cut in two. A name forges no second line.
func TestTerminationMessageIsOneLineOf4096Bytes(t *testing.T) {
	for _, before := range []string{"", "x", "xx", harness.HostileNames["newline"]} {
		file := harness.EmptyFile(t)
		harness.Must(t, logx.WriteTerminationLog(file, before+strings.Repeat("€", 2000)))
		text := harness.TextOf(t, file)
		if len(text) > 4096 || len(text) < 4090 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\x1b") {
			t.Errorf("%d bytes: %q", len(text), text[max(0, len(text)-20):])
		}
	}
}

// Before Linux 5.6, and under a seccomp profile of then, no call refuses every link: that at the end of the
// path is refused all the same.
func TestTerminationLogIsNoLinkWithoutOpenat2(t *testing.T) {
	other := harness.EmptyFile(t)
	file := filepath.Join(t.TempDir(), "link")
	harness.Must(t, os.Symlink(other, file))
	r := harness.RunToEnd(t, harness.Launch{Under: []string{harness.WorkerBin, "nocall", strconv.Itoa(unix.SYS_OPENAT2)},
		Args: []string{"--termination-log=" + file, "--", "/no/such/file"}})
	if r.Status != 127 || !strings.Contains(r.Err, "a symbolic link leads to it") {
		t.Errorf("%+v", r)
	}
	harness.WantLastMessage(t, other, "^$")
}

// What is run beside the container's drainit, or below it, writes nothing there: neither an error, nor a plan.
func TestTerminationMessageIsOfTheContainersWorker(t *testing.T) {
	harness.NeedAsk(t)
	file := harness.EmptyFile(t)
	env := []string{"DRAINIT_TERMINATION_LOG=" + file}
	p := harness.Run(t, harness.Launch{Env: append(env, "D="+harness.DrainitBin, "FILE="+file), Args: harness.Line([]string{"--grace=300ms"}, harness.Script(`
		$ENV{DRAINIT_TERMINATION_LOG} = $ENV{FILE}; $SIG{TERM} = "IGNORE";
		system $ENV{D}, "--grase", "1"; system $ENV{D}, "--", "nosuch"; system $ENV{D}, "plan", "--", "nosuch";
		say "ready $$"; forever`)...)})
	p.WaitOut(`^ready`)
	for _, args := range [][]string{{"--grase", "1"}, {"stpo"}, {"--", "nosuch"}, {"plan", "--json", "--", "true"}, {"plan", "--", "nosuch"}, {"plan", "--grace=0", "--", "sleep", "9"}} {
		if a := p.AskAs(harness.Ask{Args: args, Env: env}); a.Status == 0 {
			t.Errorf("%q ended with 0: %s", args, a.Err)
		}
		if text := harness.TextOf(t, file); text != "" {
			t.Fatalf("%q has written %q", args, text)
		}
	}
	term(p)
	p.WantExit(137)
	harness.WantLastMessage(t, file, `^stopped after .*killed perl\[\d+\] \(grace period of 300ms over\); exit status 137$`)
}
