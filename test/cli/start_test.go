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
		"all ignored and blocked, but HUP":    {hostile(syscall.SIGHUP, through...), none, none},
		"all ignored and blocked":             {hostile(0, through...), none, "0000000000000001"},
		"a script without #!":                 {harness.Launch{Args: []string{"--", script}}, none, none},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				l := tt.start
				l.NoPID1 = noPID1
				r := harness.RunToEnd(t, l)
				want := fmt.Sprintf("SigBlk:\t%s\nSigIgn:\t%s\nSigCgt:\t%s\n", tt.blocked, tt.ignored, none)
				if r.Status != 0 || r.Err != "" || !strings.Contains(r.Out, want) {
					t.Errorf("exit status %d, stderr %q, masks %q, want %q", r.Status, r.Err,
						regexp.MustCompile(`(?m)^Sig...:.*`).FindAllString(r.Out, -1), want)
				}
			})
		})
	}
}

// A HUP that nohup(1) ignores is to end neither drainit nor the worker, and is
// not even passed on: the worker here would say so.
func TestIgnoredHangupStaysIgnored(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{Ignore: []int{1}},
			Args: harness.Line(nil, harness.Script(
				`catch "USR1"; say "ready"; await "USR1"; system "grep", "SigIgn", `+
					`"/proc/$$/status"; exit 5`)...)})
		p.WaitReady()
		if ignored := harness.SignalMask(t, p.Pid(), "SigIgn"); ignored&1 == 0 {
			t.Errorf("HUP is not ignored by drainit: SigIgn %x", ignored)
		}
		p.Signal(syscall.SIGHUP)
		p.Signal(syscall.SIGUSR1)
		p.WantExit(5)
		if !harness.Matches(`\Aready\nworker got USR1\nSigIgn:\t\w+[13579bdf]\n\z`, p.Out()) {
			t.Errorf("the worker printed %q", p.Out())
		}
	})
}

// Go raises the soft limit for itself; programs that use select(2) break where
// that reaches them. The script without "#!" takes the second way to start.
func TestSoftLimitOfOpenFilesIsTheOneGiven(t *testing.T) {
	const show = "ulimit -Sn; ulimit -Hn\n"
	script := harness.WriteProgram(t, t.TempDir(), "script", 0o755, show)
	for _, worker := range [][]string{{"sh", "-c", show}, {script}} {
		limited := []string{"/bin/sh", "-c", `ulimit -Sn 77; ulimit -Hn 500; exec "$0" "$@"`}
		harness.RunToEnd(t, harness.Launch{NoPID1: true, Under: limited, Args: harness.Line(nil, worker...)}).
			WantQuietRun(t, "77\n500\n")
	}
}

// What a worker sees through drainit is what it sees without, but for drainit's own variables and the one
// that tells of it, which is there once where a drainit runs a drainit.
func TestEnvironmentIsTheOneGiven(t *testing.T) {
	odd := []string{
		"EMPTY=", "LINES=a\nb", "BYTES=\xff\xfe", "EQUALS=a=b", "LISTEN_PID=1", "LISTEN_FDS=1",
		"LISTEN_FDNAMES=a:b",
		"DRAINIT_FOO=x", "DRAINIT_SERVICE_HOST=10.0.0.1", "DRAINIT_=", "DRAINIT_GRACEFUL=1",
		"XDRAINIT_GRACE=2", "drainit_grace=3",
		"OJS_SHUTDOWN_GRACE_PERIOD=20", "OJS_GRACE_PERIOD=20", "OJS_SHUTDOWN_TIMEOUT=20",
		// Those that the Go runtime reads.
		"GOGC=17", "GOMEMLIMIT=100MiB", "GOMAXPROCS=1", "GODEBUG=gctrace=0", "GOTRACEBACK=all",
	}
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		var own []string
		for name, value := range aValue(t) {
			if name != "log-level" { // its lines would be read
				own = append(own, variableOf(name)+"="+value)
			}
		}
		show := func(env []string, through ...string) []string {
			l := harness.Launch{NoPID1: noPID1, Bin: "/bin/cat", Args: []string{"/proc/self/environ"},
				Env: append(env, odd...)}
			if len(through) > 0 {
				l.Bin, l.Args = through[0], append(through[1:], "/bin/cat", "/proc/self/environ")
			}
			r := harness.RunToEnd(t, l)
			if r.Status != 0 || strings.Count(r.Err, "\n") != strings.Count(r.Err,
				"DRAINIT_FOO, DRAINIT_, DRAINIT_GRACEFUL: no setting of drainit's") {
				t.Errorf("exit status %d, stderr %q", r.Status, r.Err)
			}
			all := strings.Split(strings.TrimSuffix(r.Out, "\x00"), "\x00")
			return slices.DeleteFunc(all, func(v string) bool { // the harness's marker
				return strings.HasPrefix(v, "DRAINTEST=")
			})
		}
		const added = "UNDER_DRAINIT=1" // the tests may have it, too
		withIt := func(all []string) []string {
			return append(slices.DeleteFunc(all, func(v string) bool { return v == added }), added)
		}
		want := withIt(show([]string{"no equals sign"}))
		wantSame(t, show(append(own, "no equals sign"), harness.DrainitBin, "--"), want)
		wantSame(t, show([]string{"no equals sign"}, harness.DrainitBin, "--", harness.DrainitBin, "--"),
			want)
		for _, v := range odd {
			if !slices.Contains(want, v) {
				t.Errorf("%q has not reached the worker", v)
			}
		}
	})
}

// wantSame compares environments, and says what differs: the whole may hold secrets.
func wantSame(t *testing.T, got, want []string) {
	t.Helper()
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(v string) bool { return slices.Contains(others, v) })
	}
	if !slices.Equal(got, want) {
		t.Errorf("environment: %q too many, %q missing, or in another order", without(got, want),
			without(want, got))
	}
}

// listDescriptors prints the open descriptors and what they are.
const listDescriptors = `opendir(my $d, "/proc/self/fd") or die; 
	for (sort { $a <=> $b } grep { /\d/ } readdir $d) {
		my $to = readlink "/proc/self/fd/$_"; print "$_ $to\n" if $to !~ m{^/proc/\d+/fd$};
	}`

var aPipe = regexp.MustCompile(`pipe:\[\d+\]`)

// What is open in the worker is compared to what is open without drainit.
func TestDescriptorsReachTheWorkerAndNoOthers(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		f := tempFile(t)
		// nil is closed
		l := harness.Launch{NoPID1: noPID1, Bin: "perl", Args: []string{"-e", listDescriptors}, Stdin: f,
			Files: make([]*os.File, 38)}
		l.Files[0], l.Files[4], l.Files[37] = f, f, f // 3, 7 and 40
		want := harness.RunToEnd(t, l)
		l.Bin, l.Args = "", append([]string{"--", l.Bin}, l.Args...)
		got := harness.RunToEnd(t, l)
		want.Out, got.Out = aPipe.ReplaceAllString(want.Out, "pipe"), aPipe.ReplaceAllString(got.Out, "pipe")
		if got != want || !strings.Contains(got.Out, "\n40 "+f.Name()+"\n") {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

func tempFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	harness.Must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// withoutOwnPipes leaves out the pipes of which drainit has both ends: they are
// none that it was given, and hold no process up.
func withoutOwnPipes(descriptors string) string {
	var rest strings.Builder
	for line := range strings.Lines(descriptors) {
		if pipe := aPipe.FindString(line); pipe == "" || strings.Count(descriptors, pipe) != 2 {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

func TestDrainitKeepsNothingOfWhatItWasGiven(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		f := tempFile(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Dir: t.TempDir(), Stdin: f,
			Files: []*os.File{f, nil, nil, nil, f},
			Args:  []string{"--", harness.WorkerBin, "listen"}})
		p.WaitOut(`^ready`)
		harness.WaitUntil(t, "drainit is in /", func() bool {
			dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.Pid()))
			return err == nil && dir == "/"
		})
		output := `/dev/null`
		if !noPID1 {
			output = `pipe:\[\d+\]`
		}
		want := regexp.MustCompile(`^0 /dev/null\n1 ` + output +
			`\n2 pipe:\[\d+\]\n\d+ /memfd:drainit \(deleted\)\n$`)
		harness.WaitUntil(t,
			"0 of drainit is /dev/null, and 1 where it is not PID 1, 2 is the log, and nothing else is "+
				"open but its file in memory", func() bool {
				return want.MatchString(withoutOwnPipes(harness.DescriptorsOf(p.Pid())))
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
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		r, w := harness.Pipe(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{Proc: "none"},
			Files: []*os.File{nil, nil, w},
			Args: []string{"--", "sh", "-c",
				`exec 5>&-; trap 'exit 0' TERM; echo closed; while :; do sleep 0.05; done`}})
		w.Close()
		p.WaitOut(`^closed`)
		harness.Must(t, r.SetReadDeadline(time.Now().Add(harness.Patience)))
		if b, err := io.ReadAll(r); err != nil || len(b) > 0 || !p.Running() {
			t.Errorf("no end of the pipe: %v, read %q; drainit runs: %v\nstderr:\n%s", err, b,
				p.Running(), p.Err())
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()
	})
}

// In a container, a cron job without a standard output of its own writes to that of PID 1.
func TestStandardOutputOfPID1IsTheContainers(t *testing.T) {
	const script = `exec >&- 2>&-; echo written >/proc/1/fd/1; echo logged >/proc/1/fd/2`
	r := harness.RunToEnd(t, harness.Launch{Args: []string{"--", "sh", "-c",
		"sh -c '" + script + "'; exit 0"}})
	if want := (harness.Ran{Out: "written\n", Err: "logged\n"}); r != want {
		t.Errorf("%+v, want %+v", r, want)
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
	show := []string{"--", "perl", "-e",
		`my $s = pack("i", -1); syscall($ARGV[0] + 0, 2, $s, 0, 0, 0) == 0 or die; print unpack("i", $s)`,
		strconv.Itoa(unix.SYS_PRCTL)}
	harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: show}).WantQuietRun(t, "0")
}

// With PID 1 the kernel kills all.
func TestWorkerIsSignalledWhenDrainitIsKilled(t *testing.T) {
	p := harness.Run(t, harness.Launch{NoPID1: true, Args: harness.Words("-v -- WORKER listen")})
	p.WaitOut(`^ready`)
	p.WaitErr(`started`)
	p.Signal(syscall.SIGKILL)
	p.WaitOut(`^got SIGTERM\n(?:.*\n)*drained`)
	p.WantNothingLeft()
}
