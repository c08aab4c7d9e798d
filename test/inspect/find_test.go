package inspect

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// everyVerb is every way to ask.
var everyVerb = [][]string{
	{"status"}, {"status", "--json"}, {"status", "--ready"}, {"quiet"}, {"quiet", "--sleep=10m"}, {"resume"}, {"stop"}, {"stop", "--force"},
}

func TestVerbsInAScratchImage(t *testing.T) {
	for name, setup := range map[string]harness.Setup{
		"root":                       {},
		"read-only":                  {ReadOnly: true},
		"plain user":                 {UID: harness.PlainUser},
		"plain user, read-only root": {UID: harness.PlainUser, ReadOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.NeedAsk(t)
			setup.Root = harness.Scratch(t)
			p := harness.Run(t, harness.Launch{Bin: "/drainit", Setup: setup, Args: []string{harness.LongGrace, "--", "/worker", "listen", "-catch", "TERM,TSTP,CONT", "-exit", "7"}})
			p.WaitReady()
			ask := func(args ...string) harness.Answer {
				t.Helper()
				return p.AskAs(harness.Ask{Bin: "/drainit", UID: setup.UID, Args: args})
			}
			inPhase{"running", false, 1}.check(t, ask)
			ask("quiet", "--sleep=50ms").WantSilent()
			p.WaitOut(`^got SIGTSTP`)
			inPhase{"quiet", false, 1}.check(t, ask)
			ask("resume").WantSilent()
			p.WaitOut(`^got SIGCONT`)
			ask("stop").WantDone(true)
			p.WantExit(7)
			p.WantGots("got SIGTSTP", "got SIGCONT", "got SIGTERM")
		})
	}
}

// Who may not signal drainit may look at it: probes run as any user.
func TestVerbsOfAnotherUser(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Start(t, harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,CONT")
	p.WaitReady()
	ask := func(args ...string) harness.Answer {
		t.Helper()
		return p.AskAs(harness.Ask{UID: harness.OwnUID(), Args: args})
	}
	inPhase{"running", false, 1}.check(t, ask)
	for _, args := range everyVerb[3:] {
		ask(args...).WantRefused(`^drainit: .*not permitted: .*drainit\[1\]`)
	}
	p.WantTitle("drainit:run")
}

func TestVerbsOfRootForAPlainUsersDrainit(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Setup: harness.Setup{UID: harness.OwnUID()}, Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-exit", "7"}})
	p.WaitReady()
	inPhase{"running", false, 1}.check(t, p.Ask)
	p.Ask("stop").WantDone(true)
	p.WantExit(7)
}

// The worker's user is not drainit's: an entrypoint dropped its rights.
func TestVerbsBesideAWorkerOfAnotherUser(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	harness.Need(t, "setpriv")
	p := harness.Start(t, harness.LongGrace, "--", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.WorkerBin, "listen", "-catch", "TERM,TSTP")
	p.WaitReady()
	inPhase{"running", false, 1}.check(t, p.Ask)
	inPhase{"running", false, 1}.check(t, func(args ...string) harness.Answer { return p.AskAs(harness.Ask{UID: harness.PlainUser, Args: args}) })
	p.Ask("quiet").WantSilent()
	p.WaitOut(`^got SIGTSTP`)
	p.Ask("stop").WantDone(true)
	p.WantExit(0)
}

// /proc with hidepid=2 shows a user nothing of the others.
func TestVerbsUnderHidepid(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Hiding(t, []string{harness.LongGrace}, harness.WorkerBin, "listen")
	p.WaitReady()
	own := harness.StatusField(t, p.Pid(), "Uid")
	inPhase{"running", false, 1}.check(t, func(args ...string) harness.Answer { return p.AskAs(harness.Ask{UID: own, Args: args}) })
	p.AskAs(harness.Ask{UID: harness.PlainUser, Args: []string{"status"}}).WantRefused(`^drainit: .*no drainit`)
	p.AskAs(harness.Ask{UID: own, Args: []string{"stop"}}).WantDone(true)
	p.WantExit(0)
}

// Where PID 1 is a drainit, it is meant, whatever cgroup the question comes from.
func TestVerbsFindPID1FromAnyCgroup(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	cgroup := harness.NewCgroup(t)
	p := harness.Start(t, harness.LongGrace, "--", harness.DrainitBin, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP", "-exit", "7")
	p.WaitReady()
	for _, ask := range []harness.Ask{{Cgroup: cgroup}, {}} {
		ask.Args = []string{"status"}
		p.AskAs(ask).Want(0, `\Arunning: drainit\[1\], 2 processes below it$`, "")
	}
	p.AskAs(harness.Ask{Cgroup: cgroup, Args: []string{"stop"}}).WantDone(true)
	p.WantExit(7)
	p.WantGots("got SIGTERM")
}

func TestVerbsInAPodFindTheDrainitOfTheirContainer(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	pod := harness.NewPod(t)
	var both []*harness.Container
	for _, name := range []string{"first ", "second "} {
		c := pod.Run(harness.NewCgroup(t), harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,CONT", "-name", name}})
		c.WaitOut(`^` + name + `ready`)
		c.WaitTitle("drainit:run")
		both = append(both, c)
	}
	first, second := both[0], both[1]
	for _, c := range both {
		inPhase{"running", false, 1}.check(t, c.Ask)
	}
	if a, b := parsed(first.Ask("status", "--json")), parsed(second.Ask("status", "--json")); a.PID == b.PID {
		t.Errorf("both are found as %d", a.PID)
	}
	first.Ask("quiet").WantSilent()
	first.WaitOut(`^first got SIGTSTP`)
	first.WantTitle("drainit:quiet")
	second.WantTitle("drainit:run")
	inPhase{"running", false, 1}.check(t, second.Ask)
	second.Ask("stop").WantSilent()
	second.WantExit(0)
	first.WantTitle("drainit:quiet")
	second.Ask("status").WantRefused(`^drainit: .*no drainit`)
	first.Ask("stop").WantSilent()
	first.WantExit(0)
	first.WantGots("first got SIGTSTP", "first got SIGTERM")
	second.WantGots("second got SIGTERM")
}

// A container of the pod sees the cgroups of the others as ../OTHER.
func TestVerbsInACgroupNamespaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	harness.Need(t, "unshare")
	pod := harness.NewPod(t)
	var both []*harness.Container
	for range 2 {
		cgroup := harness.NewCgroup(t)
		c := pod.Run(cgroup, harness.Launch{Bin: harness.PathOf(t, "unshare"), Args: []string{"--cgroup", "--", harness.DrainitBin, harness.LongGrace, "--", harness.WorkerBin, "listen"}})
		c.WaitReady()
		c.Ask = func(args ...string) harness.Answer {
			return pod.Pause.AskAs(harness.Ask{Bin: harness.PathOf(t, "unshare"), Cgroup: cgroup, Args: append([]string{"--cgroup", "--", harness.DrainitBin}, args...)})
		}
		both = append(both, c)
	}
	for _, c := range both {
		inPhase{"running", false, 1}.check(t, c.Ask)
		c.Ask("stop").WantSilent()
		c.WantExit(0)
	}
}

func TestVerbsOfTwoDrainitsInOneCgroupAreRefused(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	pod, cgroup := harness.NewPod(t), harness.NewCgroup(t)
	var c *harness.Container
	for range 2 {
		c = pod.Run(cgroup, harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,CONT"}})
		c.WaitReady()
	}
	for _, args := range everyVerb {
		c.Ask(args...).WantRefused(`^drainit: several drainits here: \d+, \d+; choose one with --pid$`)
	}
	c.WantTitle("drainit:run")
	if got := harness.Gots(c.Out()); len(got) > 0 {
		t.Errorf("the worker got %q", got)
	}
}

func TestVerbsWithoutADrainit(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	pod := harness.NewPod(t)
	for _, args := range everyVerb {
		pod.Pause.Ask(args...).WantRefused(`^drainit: .*no drainit`)
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
			harness.NeedAsk(t)
			p := harness.Run(t, harness.Launch{Setup: harness.Setup{Proc: proc}, Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,CONT"}})
			p.WaitReady()
			for _, args := range everyVerb {
				p.Ask(args...).WantRefused(`^drainit: .*/proc`)
			}
			p.WantTitle("drainit:run")
		})
	}
}

// As `docker run IMAGE status` has it, where the image's entrypoint is drainit.
func TestVerbsAsPID1SayWhatToWrite(t *testing.T) {
	harness.Usual(t)
	for _, args := range everyVerb {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			r := harness.RunToEnd(t, harness.Launch{Args: args})
			if r.Status != 125 || r.Out != "" || len(harness.LinesOf(r.Err)) != 1 || !strings.Contains(r.Err, "-- "+args[0]) {
				t.Errorf("exit status %d\nstdout: %s\nstderr: %s", r.Status, r.Out, r.Err)
			}
		})
	}
}

// The settings are those of the container, which are not the question's.
func TestVerbsIgnoreTheEnvironment(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Start(t, harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,CONT", "-exit", "7")
	p.WaitReady()
	env := []string{"DRAINIT_GRACE=nonsense", "DRAINIT_FORKING=perhaps", "DRAINIT_STOP_SIGNAL=NONE", "DRAINIT_REWRITE=x", "DRAINIT_LOG_LEVEL=loud",
		"DRAINIT_SLEEP=60s", "DRAINIT_FORCE=1", "DRAINIT_READY=1", "DRAINIT_JSON=1", "OJS_GRACE_PERIOD=soon"}
	ask := func(args ...string) harness.Answer { t.Helper(); return p.AskAs(harness.Ask{Env: env, Args: args}) }
	inPhase{"running", false, 1}.check(t, ask)
	ask("quiet").WantSilent()
	ask("status").Want(0, `^quiet`, "")
	ask("resume").WantSilent()
	ask("stop").WantDone(true)
	p.WantExit(7)
}

// A process may call itself what it likes: it is the container's first process
// that is asked, and one that calls itself so does not take its place.
func TestVerbsAskNoImpostorBelowPID1(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	harness.Need(t, "perl")
	p := harness.Run(t, harness.Launch{Args: []string{harness.LongGrace, "--", "perl", "-e", harness.Renamed, harness.Prctl, "drainit:kill"}})
	p.WaitReady()
	p.Ask("status").Want(0, `\Arunning: drainit\[1\], 1 process below it\n(.*\n)+.* drainit:kill\n\z`, "")
	p.Ask("quiet").WantSilent()
	p.WaitOut(`^quiet`)
	p.Signal(unix.SIGTERM)
}
