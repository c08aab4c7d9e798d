package test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// inScript runs command lines in a non-interactive shell that leads the session:
// it puts neither the modes right nor the foreground, as bash at its prompt does.
func inScript(t *testing.T, text string) *console {
	t.Helper()
	return atConsole(t, Launch{Bin: "/bin/sh", NoPID1: true, Args: []string{"-c", text}})
}

// isRaw reports whether keys come one by one and are not shown.
func isRaw(modes unix.Termios) bool { return modes.Lflag&(unix.ICANON|unix.ECHO) == 0 }

func TestTTYModesAreRestoredWhereTheWorkerDiesOfASignal(t *testing.T) {
	t.Parallel()
	for sig, status := range map[string]string{"KILL": "137", "TERM": "143", "ABRT": "134"} {
		t.Run(sig, func(t *testing.T) {
			t.Parallel()
			c := inScript(t, `ulimit -c 0; echo begin; read x
				drainit -- sh -c "stty raw -echo; kill -`+sig+` \$\$"
				echo status $?; read y; echo y is $y`)
			c.see(`begin`)
			modes := c.modes()
			c.enter("abc")
			c.see(`status ` + status)
			c.wantModes(modes)
			c.enter("def")
			c.see(`y is def`)
			c.wantExit(0)
		})
	}
}

func TestTTYModesAreRestoredWhereDrainitKillsTheWorker(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(c *console, drainit int){
		"grace over": func(c *console, drainit int) { c.send(drainit, unix.SIGTERM) },
		"forced": func(c *console, drainit int) {
			c.send(drainit, unix.SIGTERM)
			c.waitOut(`drainit: stopping`)
			// Within 100 ms it is the same request, and another one is due.
			c.waitUntil("killed", func() bool { return unix.Kill(drainit, unix.SIGTERM) != nil || !c.running() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := inScript(t, `echo begin; read x; drainit --grace 2s -- sh -c 'stty raw -echo; exec worker listen -drain 1h'; echo status $?; read y; echo y is $y`)
			c.see(`begin`)
			modes := c.modes()
			c.enter("abc")
			worker := c.ready()
			if !isRaw(c.modes()) {
				t.Fatal("the worker did not set the modes")
			}
			kill(c, c.above(worker))
			c.see(`status 137`)
			c.wantModes(modes)
			c.enter("def")
			c.see(`y is def`)
			c.wantExit(0)
		})
	}
}

// What a killed worker leaves may drain for long: the person at the terminal gets the modes
// back with the terminal, and not when that has ended.
func TestTTYModesAreRestoredBeforeTheLeftoversEnd(t *testing.T) {
	t.Parallel()
	c := inScript(t, `echo begin; read x
		drainit --grace 25s -- sh -c 'worker listen -drain 1h & stty raw -echo; read y; kill -KILL $$'; echo status $?`)
	c.see(`begin`)
	modes := c.modes()
	c.enter("abc")
	leftover := c.ready()
	c.waitUntil("the worker has set the modes", func() bool { return isRaw(c.modes()) })
	c.keys("go\n")
	c.waitOut(`drainit: warning: sh\[\d+\] died of SIGKILL and left`)
	c.waitUntil("the modes are back", func() bool { return c.modes() == modes })
	if stateOf(leftover) == 0 {
		t.Error("the modes came back with the end of what the worker had left")
	}
	c.send(leftover, unix.SIGKILL)
	c.see(`status 137`)
	c.wantExit(0)
}

// The last words of a worker that ends by itself are its own: so stty works.
func TestTTYModesAreLeftAloneWhereTheWorkerExits(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"by itself":      `sh -c 'stty raw -echo; exit 3'`,
		"with status 0":  `stty raw -echo`,
		"as if a signal": `sh -c 'stty raw -echo; exit 137'`,
	} {
		t.Run(name, func(t *testing.T) {
			beside(t, func(t *testing.T, under string) {
				c := inScript(t, under+command+"; echo ended; read x")
				c.see(`ended`)
				if !isRaw(c.modes()) {
					t.Errorf("the modes are %+v, want raw and no echo", c.modes())
				}
			})
		})
	}
}

func TestTTYModesAreLeftAloneWhereTheWorkerDrainsAndExits(t *testing.T) {
	t.Parallel()
	c := inScript(t, `drainit -- sh -c 'stty raw -echo; exec worker listen -drain 100ms'; echo ended; read x`)
	c.send(c.above(c.ready()), unix.SIGTERM)
	c.see(`ended`)
	if !isRaw(c.modes()) {
		t.Errorf("the modes are %+v, want raw and no echo", c.modes())
	}
}

// In the background the modes are another's.
func TestTTYModesAreLeftAloneFromTheBackground(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- worker listen &")
	worker := c.ready()
	c.enter("stty -echo -icrnl; echo set")
	c.see(`^set`)
	c.prompt()
	modes := c.modes()
	c.send(worker, unix.SIGKILL)
	c.keys("wait $!\n")
	c.wantPrompt(137)
	c.wantModes(modes)
}

// A shell that edits its line has modes of its own, which are not the ones that
// a job finds once it is in the foreground.
func TestTTYModesOfAJobFromTheBackgroundAreThoseItFinds(t *testing.T) {
	need(t, "bash")
	t.Parallel()
	c := atConsole(t, Launch{Bin: "/bin/bash", NoPID1: true, Args: []string{"--norc", "--noprofile", "-i"}})
	c.wantPrompt(0)
	c.enter(`drainit -- sh -c 'echo ready $$; stty raw -echo; kill -9 $$' &`)
	c.waitOut(`ready \d`)
	c.waitStates("T")
	c.prompt()
	c.showJobs(`Stopped`)
	c.enter("fg")
	c.wantPrompt(137)
	c.enter("stty -a")
	c.see(`[^-]icanon`)
	c.see(`[^-]echo `)
	c.prompt()
}

// With the shell that dies, its job has the terminal, which no process gives back.
func TestTTYTerminalIsTakenBackFromAJobOfADeadShell(t *testing.T) {
	need(t, "bash")
	t.Parallel()
	c := inScript(t, `drainit -- `+bashInside+`; echo status $?; read y; echo y is $y`)
	c.see(`inner% `)
	c.enter(`sh -c 'kill -9 $PPID; exec worker listen'`)
	c.see(`status 137`)
	c.enter("def")
	c.see(`y is def`)
	c.wantExit(0)
	c.wantNothingLeft()
}
