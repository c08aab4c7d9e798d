package stress

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// chaosPlan is one round of the chaos test: a drainit, what runs under it and
// what it is sent. All of it comes from the seed.
type chaosPlan struct {
	seed      uint64
	noPID1    bool
	mode      string // of --forward
	grace     time.Duration
	stopDelay time.Duration
	forking   bool
	shell     bool        // the worker is a shell without a trap, and waits for the first process
	early     bool        // begins when the first process is there, and not when all are
	nodes     []chaosNode // the first is the worker, or the shell's child
	steps     []chaosStep
}

// chaosNode is one process; its texts are those of testdata/chaos.pl.
type chaosNode struct {
	parent               int               // -1 for the first
	does                 map[string]string // signal to handle, ignore or block; the others are default
	own, at, life, react string
}

// chaosStep is what happens to drainit, so long after the step before.
type chaosStep struct {
	after  time.Duration
	sig    syscall.Signal
	times  int
	freeze time.Duration // of drainit, which gets STOP and, in the end, CONT; no signal then
}

// chaosSignals are those that a process of the tree has something to say about.
var chaosSignals = []string{"TERM", "INT", "HUP", "TSTP", "CONT", "WINCH"}

// newChaosPlan makes the plan of a seed.
func newChaosPlan(seed uint64) chaosPlan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := chaosPlan{
		seed:    seed,
		noPID1:  r.IntN(2) == 0,
		mode:    pick(r, "auto", "auto", "auto", "auto", "auto", "group", "worker"),
		grace:   pick(r, 300*time.Millisecond, time.Second, 2*time.Second, 2*time.Second, 30*time.Second),
		forking: r.IntN(8) == 0,
		shell:   r.IntN(5) == 0,
		early:   r.IntN(4) == 0,
	}
	if r.IntN(20) == 0 {
		p.grace = 0
	}
	if p.grace > 0 && r.IntN(5) == 0 {
		p.stopDelay = pick(r, 50*time.Millisecond, 200*time.Millisecond)
	}
	n := pick(r, 1, 1+r.IntN(5), 1+r.IntN(30), 1+r.IntN(30), 1+r.IntN(100), 1+r.IntN(300))
	near := pick(r, 1, 3, n) // how far above a parent is found: a chain, a tree, a bush
	for i := range n {
		p.nodes = append(p.nodes, chaosProcess(r, i, max(i-near, 0)))
	}
	p.nodes[0].own = "" // drainit gives it a session
	if r.IntN(3) > 0 {
		p.nodes[0].life = ""
	}
	p.steps = chaosSteps(r, p.grace, r.IntN(2) == 0)
	return p
}

func chaosProcess(r *rand.Rand, i, highest int) chaosNode {
	n := chaosNode{parent: -1, does: make(map[string]string)}
	if i > 0 {
		n.parent = highest + r.IntN(i-highest)
		n.own = pick(r, "", "", "", "", "", "", "session", "group")
		n.at = pick(r, "", "", "", "", "", fmt.Sprint(1+r.IntN(1500)), "stop")
	}
	for _, sig := range chaosSignals {
		n.does[sig] = pick(r, "catch", "catch", "catch", "catch", "", "", "", "ignore", "block")
	}
	if r.IntN(2) == 0 {
		n.does["INT"] = n.does["TERM"]
	}
	act := func(ms int, what string) string { return fmt.Sprint(ms, ":", what) }
	n.life = pick(r, "", "", "", "", "",
		act(r.IntN(2000), chaosEnd(r)), act(r.IntN(100), chaosEnd(r)), act(r.IntN(1500), pick(r, "stop", "exec")))
	n.react = act(pick(r, 0, 0, r.IntN(100), r.IntN(1000)), pick(r, chaosEnd(r), chaosEnd(r), chaosEnd(r),
		fmt.Sprint("relay:", r.IntN(4)), fmt.Sprint("leave:", r.IntN(4)), pick(r, "linger", "linger", "stop", "exec")))
	return n
}

// chaosEnd is a way to end by itself.
func chaosEnd(r *rand.Rand) string {
	if r.IntN(5) == 0 {
		return "die:" + pick(r, "TERM", "INT", "HUP", "USR2", "PIPE", "KILL")
	}
	return fmt.Sprint("exit:", pick(r, 0, 0, r.IntN(256)))
}

// chaosSteps is a schedule with a stop signal in the end, and a second one where
// the grace is longer than a test may wait. A patient one has no others.
func chaosSteps(r *rand.Rand, grace time.Duration, patient bool) []chaosStep {
	var steps []chaosStep
	for range r.IntN(10) {
		s := chaosStep{after: chaosPause(r), times: 1}
		switch r.IntN(10) {
		case 0, 1:
			s.freeze = time.Duration(1+r.IntN(200)) * time.Millisecond
		case 2:
			s.sig, s.times = unix.SIGWINCH, 1+r.IntN(1000)
		case 3:
			s.sig, s.times = unix.SIGTERM, pick(r, 1, 1, 2)
		case 4:
			s.sig = unix.SIGINT
		case 5, 6:
			s.sig = unix.SIGTSTP
		case 7, 8:
			s.sig = unix.SIGCONT
		case 9:
			s.sig = unix.SIGHUP
		}
		if patient && isStop(s.sig) {
			continue
		}
		steps = append(steps, s)
	}
	steps = append(steps, chaosStep{after: chaosPause(r), sig: pick(r, unix.SIGTERM, unix.SIGTERM, unix.SIGINT), times: 1})
	if grace > 5*time.Second {
		steps = append(steps, chaosStep{after: time.Duration(200+r.IntN(3000)) * time.Millisecond, sig: unix.SIGTERM, times: 1})
	}
	return steps
}

func chaosPause(r *rand.Rand) time.Duration {
	return time.Duration(pick(r, 0, 0, r.IntN(2), r.IntN(20), r.IntN(150), r.IntN(500))) * time.Millisecond
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// tree is the plan as testdata/chaos.pl takes it.
func (p chaosPlan) tree() string {
	var b strings.Builder
	for i, n := range p.nodes {
		parent := "-"
		if n.parent >= 0 {
			parent = fmt.Sprint("n", n.parent)
		}
		does := make(map[string]string)
		for _, sig := range chaosSignals {
			does[n.does[sig]] += "," + sig
		}
		fmt.Fprintf(&b, "n%d %s", i, parent)
		for _, a := range [][2]string{{"catch", does["catch"]}, {"ignore", does["ignore"]}, {"block", does["block"]},
			{"own", n.own}, {"at", n.at}, {"life", n.life}, {"react", n.react}} {
			if a[1] != "" {
				fmt.Fprintf(&b, " %s=%s", a[0], strings.TrimPrefix(a[1], ","))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// args are drainit's: flags and the worker's command line.
func (p chaosPlan) args() []string {
	flags := []string{"-v", "--log-format=text", "--forward=" + p.mode, "--grace=" + p.grace.String(), "--stop-delay=" + p.stopDelay.String()}
	if p.forking {
		flags = append(flags, "--forking")
	}
	command := []string{"perl", "testdata/chaos.pl", p.tree()}
	if p.shell {
		command = append([]string{"sh", "-c", `"$@"; exit $?`, "sh"}, command...)
	}
	return harness.Line(flags, command...)
}

func (p chaosPlan) String() string {
	return fmt.Sprintf("seed %d: PID 1 %v, shell %v, early %v, %d processes, %v, %+v", p.seed, !p.noPID1, p.shell, p.early, len(p.nodes), p.args()[:6], p.steps)
}
