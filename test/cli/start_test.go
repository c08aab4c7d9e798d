package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// allSignals are the numbers of all signals, to be blocked.
func allSignals() []int {
	var all []int
	for n := range 64 {
		all = append(all, n+1)
	}
	return all
}

// hostile starts a command with every signal blocked and all but one ignored.
func hostile(but syscall.Signal, command ...string) harness.Launch {
	args := append([]string{"hostile", strconv.Itoa(int(but))}, command...)
	return harness.Launch{Bin: harness.WorkerBin, Args: args}
}

func TestWorkerStartsWithCleanSignals(t *testing.T) {
	const (
		none   = "0000000000000000"
		all    = "fffffffffffbfeff" // but KILL and STOP
		allBut = "fffffffffffbfefe" // and but HUP
	)
	show := []string{"/bin/cat", "/proc/self/status"}
	through := append([]string{harness.DrainitBin, "--"}, show...)
	script := harness.WriteProgram(t, t.TempDir(), "script", 0o755, "exec "+strings.Join(show, " ")+"\n")
	for name, tt := range map[string]struct {
		start            harness.Launch
		blocked, ignored string
	}{
		"what the test does, without drainit": {hostile(syscall.SIGHUP, show...), all, allBut},
		"nothing special":                     {harness.Launch{Args: show}, none, none},
		"all ignored by Go, but HUP":          {harness.Launch{Args: show, Setup: harness.Setup{Ignore: allSignals()[1:], Block: allSignals()}}, none, none},
		"all ignored and blocked, but HUP":    {hostile(syscall.SIGHUP, through...), none, none},
		"all ignored and blocked":             {hostile(0, through...), none, "0000000000000001"},
		"a script without #!":                 {harness.Launch{Args: []string{"--", script}}, none, none},
		"LISTEN_PID":                          {harness.Launch{Bin: "/bin/sh", Args: activated("$$", through...)}, none, none},
		"LISTEN_PID and a script without #!":  {harness.Launch{Bin: "/bin/sh", Args: activated("$$", harness.DrainitBin, "--", script)}, none, none},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				l := tt.start
				l.NoPID1 = noPID1
				r := harness.RunToEnd(t, l)
				want := fmt.Sprintf("SigBlk:\t%s\nSigIgn:\t%s\nSigCgt:\t%s\n", tt.blocked, tt.ignored, none)
				if r.Status != 0 || r.Err != "" || !strings.Contains(r.Out, want) {
					t.Errorf("exit status %d, stderr %q, masks %q, want %q", r.Status, r.Err, regexp.MustCompile(`(?m)^Sig...:.*`).FindAllString(r.Out, -1), want)
				}
			})
		})
	}
}

// A HUP that nohup(1) ignores is to end neither drainit nor the worker, and is
// not even passed on: the worker here would say so.
func TestIgnoredHangupStaysIgnored(t *testing.T) {
	harness.Need(t, "perl")
	const worker = `$| = 1; $SIG{USR1} = sub { print "usr1\n" }; $SIG{TERM} = sub { print "term\n"; exit };
		print "ready $$\n"; sleep 1 while 1;`
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{Ignore: []int{1}}, Args: []string{"--", "perl", "-e", worker}})
		pid := workerPID(p, p.WaitOut(`^ready (\d+)`)[1])
		for who, pid := range map[string]int{"drainit": p.Pid(), "the worker": pid} {
			if ignored := harness.SignalMask(t, pid, "SigIgn"); ignored&1 == 0 {
				t.Errorf("HUP is not ignored by %s: SigIgn %x", who, ignored)
			}
		}
		p.Signal(syscall.SIGHUP)
		p.Signal(syscall.SIGUSR1)
		p.WaitOut(`^usr1`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(0)
		if !strings.HasSuffix(p.Out(), "usr1\nterm\n") {
			t.Errorf("the worker printed %q", p.Out())
		}
	})
}

// workerPID is a pid that was printed inside, as the test sees it.
func workerPID(p *harness.Init, printed string) int {
	p.T.Helper()
	pid, err := strconv.Atoi(printed)
	if err != nil {
		p.T.Fatal(err)
	}
	return p.HostPid(pid)
}

// Go raises the soft limit for itself; programs that use select(2) break where
// that reaches them. The script without "#!" takes the second way to start.
func TestSoftLimitOfOpenFilesIsTheOneGiven(t *testing.T) {
	const lower = `ulimit -Sn 77; ulimit -Hn 500; exec "$@"`
	const show = "ulimit -Sn; ulimit -Hn\n"
	script := harness.WriteProgram(t, t.TempDir(), "script", 0o755, show)
	for name, worker := range map[string][]string{"a program": {"sh", "-c", show}, "a script without #!": {script}} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				args := append([]string{"-c", lower, "sh", harness.DrainitBin, "--"}, worker...)
				harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/sh", Args: args}).WantQuietRun(t, "77\n500\n")
			})
		})
	}
}

// ownVariables has a value for each variable of drainit's own.
func ownVariables(t *testing.T) (env []string) {
	t.Helper()
	values := aValue(t)
	for _, name := range settingNames(t) {
		value := values[name].value
		switch name {
		case "log-format": // the lines are not read
			value = "json"
		case "log-level":
			value = "info"
		}
		env = append(env, variableOf(name)+"="+value)
	}
	return env
}

// What a worker sees through drainit is compared to what it sees without.
func TestEnvironmentIsTheOneGiven(t *testing.T) {
	odd := []string{
		"EMPTY=", "LINES=a\nb", "BYTES=\xff\xfe", "EQUALS=a=b", "no equals sign",
		"DRAINIT_FOO=x", "DRAINIT_SERVICE_HOST=10.0.0.1", "DRAINIT_=", "DRAINIT_GRACEFUL=1", "XDRAINIT_GRACE=2", "drainit_grace=3",
		"OJS_SHUTDOWN_GRACE_PERIOD=20", "OJS_GRACE_PERIOD=20", "OJS_SHUTDOWN_TIMEOUT=20",
		// Those that the Go runtime reads.
		"GOGC=17", "GOMEMLIMIT=100MiB", "GOMAXPROCS=1", "GODEBUG=gctrace=0", "GOTRACEBACK=all",
	}
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		own := ownVariables(t)
		plain := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/cat", Args: []string{"/proc/self/environ"}, Env: odd})
		through := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "/bin/cat", "/proc/self/environ"}, Env: append(own, odd...)})
		want, got := variables(plain.Out), variables(through.Out)
		if !slices.Equal(got, want) { // the whole of it may hold secrets
			without := func(all, others []string) []string {
				return slices.DeleteFunc(slices.Clone(all), func(v string) bool { return slices.Contains(others, v) })
			}
			t.Errorf("environment: %q too many, %q missing, or in another order", without(got, want), without(want, got))
		}
		for _, v := range odd {
			if !slices.Contains(got, v) {
				t.Errorf("%q has not reached the worker", v)
			}
		}
	})
}

// variables splits an environment and leaves out the harness's marker.
func variables(environ string) []string {
	all := strings.Split(strings.TrimSuffix(environ, "\x00"), "\x00")
	return slices.DeleteFunc(all, func(v string) bool { return strings.HasPrefix(v, "DRAINTEST=") })
}

func TestWorkingDirectoryIsTheOneGiven(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		l := harness.Launch{NoPID1: noPID1, Dir: dir, Args: []string{"--", "readlink", "/proc/self/cwd"}}
		harness.RunToEnd(t, l).WantQuietRun(t, dir+"\n")
	})
}

// listDescriptors prints the open descriptors and what they are.
const listDescriptors = `opendir(my $d, "/proc/self/fd") or die; 
	for (sort { $a <=> $b } grep { /\d/ } readdir $d) {
		my $to = readlink "/proc/self/fd/$_"; print "$_ $to\n" if $to !~ m{^/proc/\d+/fd$};
	}`

// What is open in the worker is compared to what is open without drainit.
func TestDescriptorsReachTheWorkerAndNoOthers(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		files, dir := make(map[int]*os.File), t.TempDir()
		extra := make([]*os.File, 38) // nil is closed
		for _, fd := range []int{0, 1, 2, 3, 7, 8, 40} {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint("file", fd)))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			files[fd] = f
			if fd > 2 {
				extra[fd-3] = f
			}
		}
		l := harness.Launch{NoPID1: noPID1, Stdin: files[0], Stdout: files[1], Stderr: files[2], Files: extra}
		l.Bin, l.Args = harness.PathOf(t, "perl"), []string{"-e", listDescriptors}
		harness.Run(t, l).WantExit(0)
		want := takeContent(t, files[1])
		l.Bin, l.Args = "", append([]string{"--", harness.PathOf(t, "perl")}, l.Args...)
		harness.Run(t, l).WantExit(0)
		if got := takeContent(t, files[1]); got != want || !strings.Contains(got, "\n40 "+dir+"/file40\n") {
			t.Errorf("open in the worker:\n%swant:\n%s", got, want)
		}
		if got := takeContent(t, files[2]); got != "" {
			t.Errorf("stderr: %q", got)
		}
	})
}

// takeContent returns what was written to a file and empties it.
func takeContent(t *testing.T, f *os.File) string {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// withoutOwnPipes leaves out the pipes of which drainit has both ends: they are
// none that it was given, and hold no process up.
func withoutOwnPipes(descriptors string) string {
	target := regexp.MustCompile(`pipe:\[\d+\]`)
	var rest strings.Builder
	for line := range strings.Lines(descriptors) {
		if pipe := target.FindString(line); pipe == "" || strings.Count(descriptors, pipe) != 2 {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

func TestDrainitKeepsNothingOfWhatItWasGiven(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		f, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Dir: t.TempDir(), Stdin: f, Files: []*os.File{f, nil, nil, nil, f},
			Args: []string{"--", harness.WorkerBin, "listen"}})
		p.WaitOut(`^ready`)
		harness.WaitUntil(t, "drainit is in /", func() bool {
			dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.Pid()))
			return err == nil && dir == "/"
		})
		output := `/dev/null`
		if !noPID1 {
			output = `pipe:\[\d+\]`
		}
		want := regexp.MustCompile(`^0 /dev/null\n1 ` + output + `\n2 pipe:\[\d+\]\n$`)
		harness.WaitUntil(t, "0 of drainit is /dev/null, and 1 where it is not PID 1, 2 is the log and nothing else that it was given is open", func() bool {
			return want.MatchString(withoutOwnPipes(harness.DescriptorsOf(t, p.Pid())))
		})
		if !p.Running() {
			t.Error("drainit has ended")
		}
	})
}

// What reads from the worker must see the end when the worker closes its
// end, and not when drainit is done. Without /proc the descriptors to close
// can't be listed.
func TestPipeIsHeldByTheWorkerOnly(t *testing.T) {
	const closes = `exec 5>&-; trap 'exit 0' TERM; echo closed; while :; do sleep 0.05; done`
	const leaves = `(exec 5>&-; trap "" HUP; trap 'exit 0' TERM; trap : USR1; echo closed; while :; do sleep 0.05; done) & exec 5>&-; wait`
	for name, tt := range map[string]struct {
		script string
		proc   string
	}{
		"closed by the worker":             {closes, ""},
		"closed by the worker, no /proc":   {closes, "none"},
		"closed by the worker's own child": {leaves, ""},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				r, w := harness.Pipe(t)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{Proc: tt.proc}, Files: []*os.File{nil, nil, w},
					Args: []string{"-g", "--", "sh", "-c", tt.script}})
				w.Close()
				p.WaitOut(`^closed`)
				wantEOF(t, r)
				if !p.Running() {
					t.Errorf("drainit has ended\nstderr:\n%s", p.Err())
				}
				p.Signal(syscall.SIGTERM)
				p.Wait()
			})
		})
	}
}

// wantEOF waits until no process holds the pipe's other end any more.
func wantEOF(t *testing.T, r *os.File) {
	t.Helper()
	if err := r.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || len(b) > 0 {
		t.Errorf("no end of the pipe: %v, read %q", err, b)
	}
}

func TestStandardOutputIsHeldByTheWorkerOnly(t *testing.T) {
	const script = `exec >&-; trap 'exit 3' TERM; while :; do sleep 0.05; done`
	p := harness.Run(t, harness.Launch{NoPID1: true, Args: []string{"--", "sh", "-c", script}})
	select {
	case <-p.Stdout.Eof:
	case <-time.After(harness.Patience):
		t.Error("a process holds standard output")
	}
	if !p.Running() {
		t.Error("drainit has ended")
	}
	p.Signal(syscall.SIGTERM)
	p.Wait()
}

// In a container, those without a standard output of their own, cron jobs say, write
// to that of PID 1.
func TestStandardOutputOfPID1IsTheContainers(t *testing.T) {
	harness.Need(t, "setsid")
	const script = `exec >&- 2>&-; echo written >/proc/1/fd/1; echo logged >/proc/1/fd/2; exit 3`
	p := harness.Start(t, "--", "sh", "-c", "setsid sh -c '"+script+"'; exit 4")
	p.WantExit(4)
	if p.Out() != "written\n" || p.Err() != "logged\n" {
		t.Errorf("stdout %q, stderr %q", p.Out(), p.Err())
	}
}

func TestWorkerLeadsASessionWithoutATerminal(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "cat", "/proc/self/stat"}})
		p.WantExit(0)
		// pid (comm) state ppid pgrp session tty_nr
		f := strings.Fields(p.Out())
		if f[4] != f[0] || f[5] != f[0] || f[6] != "0" {
			t.Errorf("pid %s, group %s, session %s, terminal %s", f[0], f[4], f[5], f[6])
		}
		if want := strconv.Itoa(p.Pid()); noPID1 && f[3] != want || !noPID1 && f[3] != "1" {
			t.Errorf("the parent is %s, drainit %s", f[3], want)
		}
	})
}

// The worker must not find itself with a setting that it did not make, and this
// one signals it again for each thread of drainit that dies.
func TestWorkerHasNoParentDeathSignal(t *testing.T) {
	harness.Need(t, "perl")
	show := []string{"--", "perl", "-e", `my $s = pack("i", -1); syscall($ARGV[0] + 0, 2, $s, 0, 0, 0) == 0 or die; print unpack("i", $s)`,
		strconv.Itoa(unix.SYS_PRCTL)}
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: show}).WantQuietRun(t, "0")
	})
}

func TestWorkerIsSignalledWhenDrainitIsKilled(t *testing.T) {
	t.Run("not PID 1", func(t *testing.T) {
		p := harness.Run(t, harness.Launch{NoPID1: true, Args: []string{"-v", "--", harness.WorkerBin, "listen"}})
		p.WaitOut(`^ready`)
		p.WaitErr(`started`)
		p.Signal(syscall.SIGKILL)
		p.WaitOut(`^got SIGTERM\n(?:.*\n)*drained`)
		p.WantNothingLeft()
	})
	t.Run("PID 1", func(t *testing.T) {
		p := harness.Start(t, "--", harness.WorkerBin, "listen", "-drain", "1h")
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGKILL)
		p.WantExit(137)
		p.WantNothingLeft()
	})
}
