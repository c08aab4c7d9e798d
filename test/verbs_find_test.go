package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// everyVerb is every way to ask.
var everyVerb = [][]string{
	{"status"}, {"status", "--json"}, {"status", "--ready"}, {"quiet"}, {"quiet", "--sleep=60s"}, {"resume"}, {"stop"}, {"stop", "--force"},
}

// scratch is the folder of an image that holds two static programs and nothing
// else that any of them could use.
func scratch(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, dir := range []string{"proc", "dev"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{drainitBin: "drainit", workerBin: "worker"} {
		if err := os.Link(from, filepath.Join(root, to)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(root, "dev/null"), nil)
	return root
}

func TestVerbsInAScratchImage(t *testing.T) {
	for name, setup := range map[string]Setup{
		"root":                       {},
		"read-only":                  {ReadOnly: true},
		"plain user":                 {UID: plainUser},
		"plain user, read-only root": {UID: plainUser, ReadOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needAsk(t)
			setup.Root = scratch(t)
			p := launch(t, Launch{Bin: "/drainit", Setup: setup, Args: []string{longGrace, "--", "/worker", "listen", "-catch", "TERM,TSTP,CONT", "-exit", "7"}})
			p.waitOut(`^ready`)
			p.waitTitle("drainit:run")
			ask := func(args ...string) answer {
				t.Helper()
				return p.askAs(Ask{Bin: "/drainit", UID: setup.UID, Args: args})
			}
			inPhase{"running", false, 1}.check(t, ask)
			ask("quiet", "--sleep=50ms").wantSilent()
			p.waitOut(`^got SIGTSTP`)
			inPhase{"quiet", false, 1}.check(t, ask)
			ask("resume").wantSilent()
			p.waitOut(`^got SIGCONT`)
			ask("stop").wantDone(true)
			p.wantExit(7)
			p.wantGots("got SIGTSTP", "got SIGCONT", "got SIGTERM")
		})
	}
}

// Who may not signal drainit may look at it: probes run as any user.
func TestVerbsOfAnotherUser(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := start(t, longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP,CONT")
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	ask := func(args ...string) answer { t.Helper(); return p.askAs(Ask{UID: ownUID(), Args: args}) }
	inPhase{"running", false, 1}.check(t, ask)
	for _, args := range everyVerb[3:] {
		ask(args...).wantRefused(`^drainit: .*not permitted: .*drainit\[1\]`)
	}
	p.wantTitle("drainit:run")
}

func TestVerbsOfRootForAPlainUsersDrainit(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := launch(t, Launch{Setup: Setup{UID: ownUID()}, Args: []string{longGrace, "--", workerBin, "listen", "-exit", "7"}})
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	inPhase{"running", false, 1}.check(t, p.ask)
	p.ask("stop").wantDone(true)
	p.wantExit(7)
}

// The worker's user is not drainit's: an entrypoint dropped its rights.
func TestVerbsBesideAWorkerOfAnotherUser(t *testing.T) {
	t.Parallel()
	needAsk(t)
	need(t, "setpriv")
	p := start(t, longGrace, "--", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", workerBin, "listen", "-catch", "TERM,TSTP")
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	inPhase{"running", false, 1}.check(t, p.ask)
	inPhase{"running", false, 1}.check(t, func(args ...string) answer { return p.askAs(Ask{UID: plainUser, Args: args}) })
	p.ask("quiet").wantSilent()
	p.waitOut(`^got SIGTSTP`)
	p.ask("stop").wantDone(true)
	p.wantExit(0)
}

// /proc with hidepid=2 shows a user nothing of the others.
func TestVerbsUnderHidepid(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := hiding(t, []string{longGrace}, workerBin, "listen")
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	own := statusField(t, p.Pid(), "Uid")
	inPhase{"running", false, 1}.check(t, func(args ...string) answer { return p.askAs(Ask{UID: own, Args: args}) })
	p.askAs(Ask{UID: plainUser, Args: []string{"status"}}).wantRefused(`^drainit: .*no drainit`)
	p.askAs(Ask{UID: own, Args: []string{"stop"}}).wantDone(true)
	p.wantExit(0)
}

// Where PID 1 is a drainit, it is meant, whatever cgroup the question comes from.
func TestVerbsFindPID1FromAnyCgroup(t *testing.T) {
	t.Parallel()
	needAsk(t)
	cgroup := newCgroup(t)
	p := start(t, longGrace, "--", drainitBin, "--", workerBin, "listen", "-catch", "TERM,TSTP", "-exit", "7")
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	for _, ask := range []Ask{{Cgroup: cgroup}, {}} {
		ask.Args = []string{"status"}
		p.askAs(ask).want(0, `\Arunning: drainit\[1\], 2 processes below it$`, "")
	}
	p.askAs(Ask{Cgroup: cgroup, Args: []string{"stop"}}).wantDone(true)
	p.wantExit(7)
	p.wantGots("got SIGTERM")
}

func TestVerbsInAPodFindTheDrainitOfTheirContainer(t *testing.T) {
	t.Parallel()
	needAsk(t)
	pod := newPod(t)
	var both []*Container
	for _, name := range []string{"first ", "second "} {
		c := pod.run(newCgroup(t), Launch{Args: []string{longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP,CONT", "-name", name}})
		c.waitOut(`^` + name + `ready`)
		c.waitTitle("drainit:run")
		both = append(both, c)
	}
	first, second := both[0], both[1]
	for _, c := range both {
		inPhase{"running", false, 1}.check(t, c.ask)
	}
	if a, b := first.ask("status", "--json").parsed(), second.ask("status", "--json").parsed(); a.PID == b.PID {
		t.Errorf("both are found as %d", a.PID)
	}
	first.ask("quiet").wantSilent()
	first.waitOut(`^first got SIGTSTP`)
	first.wantTitle("drainit:quiet")
	second.wantTitle("drainit:run")
	inPhase{"running", false, 1}.check(t, second.ask)
	second.ask("stop").wantSilent()
	second.wantExit(0)
	first.wantTitle("drainit:quiet")
	second.ask("status").wantRefused(`^drainit: .*no drainit`)
	first.ask("stop").wantSilent()
	first.wantExit(0)
	first.wantGots("first got SIGTSTP", "first got SIGTERM")
	second.wantGots("second got SIGTERM")
}

// A container of the pod sees the cgroups of the others as ../OTHER.
func TestVerbsInACgroupNamespaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	needAsk(t)
	need(t, "unshare")
	pod := newPod(t)
	var both []*Container
	for range 2 {
		cgroup := newCgroup(t)
		c := pod.run(cgroup, Launch{Bin: pathOf(t, "unshare"), Args: []string{"--cgroup", "--", drainitBin, longGrace, "--", workerBin, "listen"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
		c.ask = func(args ...string) answer {
			return pod.pause.askAs(Ask{Bin: pathOf(t, "unshare"), Cgroup: cgroup, Args: append([]string{"--cgroup", "--", drainitBin}, args...)})
		}
		both = append(both, c)
	}
	for _, c := range both {
		inPhase{"running", false, 1}.check(t, c.ask)
		c.ask("stop").wantSilent()
		c.wantExit(0)
	}
}

func TestVerbsOfTwoDrainitsInOneCgroupAreRefused(t *testing.T) {
	t.Parallel()
	needAsk(t)
	pod, cgroup := newPod(t), newCgroup(t)
	var c *Container
	for range 2 {
		c = pod.run(cgroup, Launch{Args: []string{longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP,CONT"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
	}
	for _, args := range everyVerb {
		c.ask(args...).wantRefused(`^drainit: several drainits here: \d+, \d+; choose one with --pid$`)
	}
	c.wantTitle("drainit:run")
	if got := gots(c.out()); len(got) > 0 {
		t.Errorf("the worker got %q", got)
	}
}

func TestVerbsWithoutADrainit(t *testing.T) {
	t.Parallel()
	needAsk(t)
	pod := newPod(t)
	for _, args := range everyVerb {
		pod.pause.ask(args...).wantRefused(`^drainit: .*no drainit`)
	}
}

// Without /proc, or with that of another namespace, nothing can be found: a
// guess would be another container's PID 1.
func TestVerbsWithoutProc(t *testing.T) {
	if raced {
		skip(t, "the race detector has lines of its own to say without /proc")
	}
	for _, proc := range []string{"none", "foreign"} {
		t.Run(proc, func(t *testing.T) {
			t.Parallel()
			needAsk(t)
			p := launch(t, Launch{Setup: Setup{Proc: proc}, Args: []string{longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP,CONT"}})
			p.waitOut(`^ready`)
			p.waitTitle("drainit:run")
			for _, args := range everyVerb {
				p.ask(args...).wantRefused(`^drainit: .*/proc`)
			}
			p.wantTitle("drainit:run")
		})
	}
}

// As `docker run IMAGE status` has it, where the image's entrypoint is drainit.
func TestVerbsAsPID1SayWhatToWrite(t *testing.T) {
	for _, args := range everyVerb {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			r := runToEnd(t, Launch{Args: args})
			if r.status != 125 || r.out != "" || len(linesOf(r.err)) != 1 || !strings.Contains(r.err, "-- "+args[0]) {
				t.Errorf("exit status %d\nstdout: %s\nstderr: %s", r.status, r.out, r.err)
			}
		})
	}
}

// The settings are those of the container, which are not the question's.
func TestVerbsIgnoreTheEnvironment(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := start(t, longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP,CONT", "-exit", "7")
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	env := []string{"DRAINIT_GRACE=nonsense", "DRAINIT_FORKING=perhaps", "DRAINIT_STOP_SIGNAL=NONE", "DRAINIT_REWRITE=x", "DRAINIT_LOG_LEVEL=loud",
		"DRAINIT_SLEEP=60s", "DRAINIT_FORCE=1", "DRAINIT_READY=1", "DRAINIT_JSON=1", "OJS_GRACE_PERIOD=soon"}
	ask := func(args ...string) answer { t.Helper(); return p.askAs(Ask{Env: env, Args: args}) }
	inPhase{"running", false, 1}.check(t, ask)
	ask("quiet").wantSilent()
	ask("status").want(0, `^quiet`, "")
	ask("resume").wantSilent()
	ask("stop").wantDone(true)
	p.wantExit(7)
}

// A process may call itself what it likes: it is the container's first process
// that is asked, and one that calls itself so does not take its place.
func TestVerbsAskNoImpostorBelowPID1(t *testing.T) {
	t.Parallel()
	needAsk(t)
	need(t, "perl")
	p := launch(t, Launch{Args: []string{longGrace, "--", "perl", "-e", renamed, prctl, "drainit:kill"}})
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	p.ask("status").want(0, `\Arunning: drainit\[1\], 1 process below it\n(.*\n)+.* drainit:kill\n\z`, "")
	p.ask("quiet").wantSilent()
	p.waitOut(`^quiet`)
	p.signal(unix.SIGTERM)
}
