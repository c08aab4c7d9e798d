package inspect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// everyVerb is every way to ask.
var everyVerb = [][]string{
	{"status"}, {"status", "--json"}, {"status", "--ready"}, {"quiet"}, {"quiet", "--sleep=10m"}, {"resume"},
	{"stop"}, {"stop", "--force"},
}

// listening are the arguments of a drainit with a worker that listens to what verbs send.
func listening(args ...string) []string {
	return append(harness.Words("--grace=10m -- WORKER listen -catch TERM,TSTP,CONT -exit 7"), args...)
}

// startListening starts it as PID 1.
func startListening(t *testing.T, setup harness.Setup) *harness.Init {
	t.Helper()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Setup: setup, Args: listening()})
	p.WaitReady()
	return p
}

// scratch is the folder of an image that holds two static programs and nothing
// else that any of them could use.
func scratch(t *testing.T) (root string) {
	root = t.TempDir()
	harness.Must(t, errors.Join(os.Mkdir(filepath.Join(root, "proc"), 0o755),
		os.Mkdir(filepath.Join(root, "dev"), 0o755),
		os.Link(harness.DrainitBin, filepath.Join(root, "drainit")),
		os.Link(harness.WorkerBin, filepath.Join(root, "worker"))))
	harness.WriteFile(t, filepath.Join(root, "dev/null"), "")
	return root
}

// The question may come from drainit's own user, and from root.
func TestVerbsInAScratchImage(t *testing.T) {
	for name, setup := range map[string]harness.Setup{"root": {},
		"plain user, read-only root": {UID: harness.PlainUser, ReadOnly: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.NeedAsk(t)
			setup.Root = scratch(t)
			args := listening()
			args[2] = "/worker"
			p := harness.Run(t, harness.Launch{Bin: "/drainit", Setup: setup, Args: args})
			p.WaitReady()
			ask := func(args ...string) harness.Answer {
				t.Helper()
				return p.AskAs(harness.Ask{Bin: "/drainit", UID: setup.UID}, args...)
			}
			inPhase{"running", false, 1}.check(t, ask)
			ask("quiet", "--sleep=50ms").WantSilent()
			inPhase{"quiet", false, 1}.check(t, ask)
			ask("resume").WantSilent()
			p.WaitOut(`^got SIGCONT`)
			p.AskAs(harness.Ask{Bin: "/drainit"}, "stop").WantDone(true)
			p.WantExit(7)
			p.WantGots("got SIGTSTP", "got SIGCONT", "got SIGTERM")
		})
	}
}

// What runs drainit may be another program, such as an emulator, whose command line is no list of settings.
func TestSettingsOfADrainitThatAnotherProgramRuns(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	other := filepath.Join(t.TempDir(), "drainit")
	b, err := os.ReadFile(harness.DrainitBin)
	harness.Must(t, errors.Join(err, os.WriteFile(other, append(b, 0), 0o755)))
	p := harness.Run(t, harness.Launch{Bin: other, Args: listening()})
	p.WaitReady()
	p.Ask("status").Want(0, `^running: `, "")
	p.Ask("status", "--plan").Want(0, `now: the worker`, `\Adrainit: cannot read all settings of `+
		`drainit\[1\], and the plan goes by the others: another program runs it, such as an emulator or `+
		`another version\n\z`)
	p.Signal(unix.SIGTERM)
	p.WantExit(7)
}

// Who may not signal drainit may look at it: probes run as any user.
func TestVerbsOfAnotherUser(t *testing.T) {
	t.Parallel()
	p := startListening(t, harness.Setup{})
	ask := func(args ...string) harness.Answer {
		t.Helper()
		return p.AskAs(harness.Ask{UID: harness.OwnUID()}, args...)
	}
	inPhase{"running", false, 1}.check(t, ask)
	for _, args := range everyVerb[3:] {
		ask(args...).WantRefused(`^drainit: .*not permitted: .*drainit\[1\]`)
	}
	p.WantTitle("drainit:run")
}

// /proc with hidepid=2 shows a user nothing of the others.
func TestVerbsUnderHidepid(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Hiding(t, []string{harness.LongGrace}, harness.WorkerBin, "listen")
	p.WaitReady()
	own := harness.StatusField(t, p.Pid(), "Uid")
	inPhase{"running", false, 1}.check(t,
		func(args ...string) harness.Answer { return p.AskAs(harness.Ask{UID: own}, args...) })
	p.AskAs(harness.Ask{UID: harness.PlainUser}, "status").
		WantRefused(`^drainit: no drainit is seen: PID 1 is hidden from this user`)
	p.AskAs(harness.Ask{UID: own}, "stop").WantDone(true)
	p.WantExit(0)
}

// There what a user's worker calls a drainit is none.
func TestVerbsAskNoImpostorUnderHidepid(t *testing.T) {
	for _, hidepid := range []string{"1", "2"} {
		t.Run(hidepid, func(t *testing.T) {
			t.Parallel()
			harness.NeedAsk(t)
			harness.NeedRoot(t)
			harness.Need(t, "perl", "setpriv")
			const start = `mount -o remount,hidepid=$0 /proc && exec "$1" -t 1h -- setpriv --reuid=1 ` +
				`--regid=1 --clear-groups perl -e "$2"`
			const impostor = `$| = 1; for my $s (qw(TSTP CONT TERM RTMAX)) { $SIG{$s} = sub { print "got ` +
				`$s\n" } } print "ready\n" if fork or ($0 = "drainit:run"); sleep 1 while 1`
			p := harness.Run(t, harness.Launch{Bin: "/bin/sh",
				Args: []string{"-c", start, hidepid, harness.DrainitBin, impostor}})
			harness.WaitUntil(t, "both are ready",
				func() bool { return strings.Count(p.Out(), "ready") == 2 })
			for _, args := range append(everyVerb, []string{"status", "--pid=1"}) {
				p.AskAs(harness.Ask{UID: 1}, args...).
					WantRefused(`^drainit: no drainit is seen: PID 1 is hidden from this user`)
			}
			p.AskAs(harness.Ask{UID: harness.PlainUser}, "status").
				WantRefused(`PID 1 is hidden from this user`)
			p.Ask("stop", "--force").WantDone(true)
			p.WantExit(137)
			if strings.Contains(p.Out(), "got ") {
				t.Errorf("the worker was signalled: %s", p.Out())
			}
		})
	}
}

// inCgroup starts a container of a pod whose worker listens to what verbs send.
func inCgroup(pod *harness.Init, cgroup string) *container {
	pod.T.Helper()
	c := runBeside(pod, cgroup, harness.Launch{Args: listening()})
	c.WaitReady()
	return c
}

func TestVerbsInAPodFindTheDrainitOfTheirContainer(t *testing.T) {
	t.Parallel()
	pod := newPod(t)
	first, second := inCgroup(pod, harness.NewCgroup(t)), inCgroup(pod, harness.NewCgroup(t))
	if a, b := parsed(first.Ask("status", "--json")), parsed(second.Ask("status", "--json")); a.PID == b.PID {
		t.Errorf("both are found as %d", a.PID)
	}
	first.Ask("quiet").WantSilent()
	first.WaitOut(`^got SIGTSTP`)
	first.WantTitle("drainit:quiet")
	inPhase{"running", false, 1}.check(t, second.Ask)
	second.Ask("stop").WantSilent()
	second.WantExit(7)
	second.Ask("status").WantRefused(`^drainit: .*no drainit`)
	first.WantTitle("drainit:quiet")
	first.Ask("stop").WantSilent()
	first.WantExit(7)
	first.WantGots("got SIGTSTP", "got SIGTERM")
	second.WantGots("got SIGTERM")
}

func TestVerbsChooseByPid(t *testing.T) {
	t.Parallel()
	pod, cgroup := newPod(t), harness.NewCgroup(t)
	a, b := inCgroup(pod, cgroup), inCgroup(pod, cgroup)
	first, second := harness.PidInside(a.Drainit), harness.PidInside(b.Drainit)
	for _, args := range everyVerb {
		a.Ask(args...).
			WantRefused(fmt.Sprintf(`^drainit: several drainits here: (%s, %s|%[2]s, %[1]s); choose one `+
				`with --pid$`, first, second))
	}
	a.Ask("status", "--pid", first).Want(0, `\Arunning: drainit\[`+first+`\], 1 process below it\n`, "")
	a.Ask("quiet", "--pid="+second).WantSilent()
	a.Ask("status", "--ready", "--pid", first).Want(0, `\Arunning\n\z`, "")
	a.Ask("status", "--ready", "--pid", second).Want(1, `\Aquiet\n\z`, "")
	a.Ask("resume", "--pid", second).WantSilent()
	for _, none := range []string{"1", "2147483647", harness.PidInside(b.ReadyPid(`^ready`))} {
		for _, verb := range harness.Words("status quiet resume stop") {
			a.Ask(verb, "--pid", none).WantRefused(`^drainit: --pid: no drainit runs as ` + none + `$`)
		}
	}
	a.Ask("stop", "--pid", second).WantSilent()
	b.WantExit(7)
	b.WantGots("got SIGTSTP", "got SIGCONT", "got SIGTERM")
	a.WantTitle("drainit:run")
	a.Ask("status").Want(0, `^running`, "")
}

// A container of the pod sees the cgroups of the others as ../OTHER.
func TestVerbsInACgroupNamespaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	unshare, pod := harness.PathOf(t, "unshare"), newPod(t)
	inside := []string{"--cgroup", "--", harness.DrainitBin}
	both := make(map[*container]func(args ...string) harness.Answer)
	for range 2 {
		cgroup := harness.NewCgroup(t)
		c := runBeside(pod, cgroup, harness.Launch{Bin: unshare, Args: slices.Concat(inside, listening())})
		c.WaitReady()
		both[c] = func(args ...string) harness.Answer {
			return pod.AskAs(harness.Ask{Bin: unshare, Cgroup: cgroup}, slices.Concat(inside, args)...)
		}
	}
	for c, ask := range both {
		inPhase{"running", false, 1}.check(t, ask)
		ask("stop").WantSilent()
		c.WantExit(7)
	}
}

// In a shared PID namespace a process may call itself what it likes.
func TestVerbsInAPodAskNoImpostor(t *testing.T) {
	t.Parallel()
	pod, cgroup := newPod(t), harness.NewCgroup(t)
	beside := runBeside(pod, cgroup, harness.Launch{Bin: "perl", Args: harness.Renamed("drainit:run")[1:]})
	beside.WaitOut(`^ready`)
	c := runBeside(pod, cgroup, harness.Launch{Args: harness.Line([]string{harness.LongGrace},
		harness.Renamed("drainit:kill")...)})
	c.WaitReady()
	c.Ask("status").Want(0, `\Arunning: drainit\[`+harness.PidInside(c.Drainit)+
		`\], 1 process below it\n(.*\n)+.* drainit:kill\n\z`, "")
	c.Ask("quiet").WantSilent()
	c.WaitOut(`^quiet`)
	if beside.Out() != "ready\n" {
		t.Errorf("the impostor was asked: %q", beside.Out())
	}
}

// Without /proc, or with that of another namespace, nothing can be found: a
// guess would be another container's PID 1.
func TestVerbsWithoutProc(t *testing.T) {
	if harness.Raced {
		harness.Skip(t, "the race detector has lines of its own to say without /proc")
	}
	for _, proc := range []string{"none", "foreign"} {
		t.Run(proc, func(t *testing.T) {
			t.Parallel()
			p := startListening(t, harness.Setup{Proc: proc})
			for _, args := range everyVerb {
				p.Ask(args...).WantRefused(`^drainit: .*/proc`)
			}
			p.WantTitle("drainit:run")
		})
	}
}

// The settings are those of the container, which are not the question's.
func TestVerbsIgnoreTheEnvironment(t *testing.T) {
	t.Parallel()
	p := startListening(t, harness.Setup{})
	env := harness.Words(`DRAINIT_GRACE=nonsense DRAINIT_FORKING=perhaps DRAINIT_STOP_SIGNAL=NONE ` +
		`DRAINIT_LOG_LEVEL=loud
		DRAINIT_SLEEP=60s DRAINIT_FORCE=1 DRAINIT_READY=1 DRAINIT_JSON=1 OJS_GRACE_PERIOD=soon`)
	ask := func(args ...string) harness.Answer { t.Helper(); return p.AskAs(harness.Ask{Env: env}, args...) }
	inPhase{"running", false, 1}.check(t, ask)
	ask("quiet").WantSilent()
	ask("status").Want(0, `^quiet`, "")
	ask("stop").WantDone(true)
	p.WantExit(7)
}

// A probe that comes early is answered so, and not that there is no drainit. What answers here has the
// title of one that starts.
func TestVerbsOfADrainitThatStarts(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Bin: "perl", Args: harness.Renamed("drainit:start")[1:]})
	p.WaitOut(`^ready`)
	for _, args := range everyVerb[:6] {
		p.Ask(args...).Want(1, "", `\Adrainit: drainit\[1\] has not started its worker yet\n\z`)
	}
	if p.Out() != "ready\n" {
		t.Errorf("it was sent signals: %q", p.Out())
	}
}

// `docker run IMAGE status` has a verb as PID 1, where the image's entrypoint is drainit.
func TestVerbAsPID1AsksNoDrainit(t *testing.T) {
	r := harness.RunToEnd(t, harness.Launch{Args: []string{"stop"}})
	if r.Status != 125 || r.Out != "" || !harness.Matches(`\A.*-- stop\n\z`, r.Err) {
		t.Errorf("%+v", r)
	}
}
