package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// scripts are what a script runs before it goes on to use the terminal itself.
var scripts = map[string]struct {
	command string
	talk    func(c *console)
}{
	"true":                  {"true", nothing},
	"read":                  {`sh -c 'read x; echo it was $x'`, func(c *console) { c.enter("abc"); c.see(`it was abc`) }},
	"stty":                  {"stty -g", nothing},
	"background children":   {`sh -c 'read x; sleep 0.1 & exit 0'`, func(c *console) { c.enter("abc") }},
	"bash":                  {bashInside, inShell},
	"a job of a dead shell": {dashInside, killShellOfAJob},
	"less":                  {"less lines", func(c *console) { c.see(`7mlines`); c.keys("q") }},
	"python":                {"python3 -q", inPython},
}

// killShellOfAJob leaves the terminal to the job of a shell that is killed.
func killShellOfAJob(c *console) {
	c.see(`inner% `)
	c.enter(`sh -c 'kill -9 $PPID; exec worker listen -catch USR1,TERM'`)
}

// The terminal is usable after drainit, without a shell that puts it right: in
// the script's own group, with the modes as they were.
func TestTTYScriptGoesOnUsingTheTerminal(t *testing.T) {
	need(t, "bash", "dash", "less", "python3")
	t.Parallel()
	for name, s := range scripts {
		for _, shell := range []string{"/bin/dash", "/bin/bash"} {
			t.Run(name+" in "+filepath.Base(shell), func(t *testing.T) {
				t.Parallel()
				c := atConsole(t, Launch{Bin: shell, NoPID1: true, Args: []string{"-c",
					`echo begin; stty -a; drainit -- ` + s.command + `; stty -a; echo end; read y; echo y is $y; exit 8`}})
				c.see(`begin`)
				before := c.see(`(?s)speed .*?-extproc`)[0]
				s.talk(c)
				if after := c.see(`(?s)speed .*?-extproc`)[0]; after != before {
					t.Errorf("the modes were\n%s\nand are\n%s", before, after)
				}
				c.see(`end`)
				c.enter("def")
				c.see(`y is def`)
				c.wantExit(8)
				c.wantNothingLeft()
			})
		}
	}
}

// A shell that is PID 1 of a container, as for an ENTRYPOINT that is a script.
func TestTTYScriptThatIsPID1GoesOnUsingTheTerminal(t *testing.T) {
	t.Parallel()
	c := atConsole(t, Launch{Bin: "/bin/sh", Args: []string{"-c", `drainit -- sh -c 'read x; echo x is $x'; read y; echo y is $y; exit 8`}})
	c.enter("abc")
	c.see(`x is abc`)
	c.enter("def")
	c.see(`y is def`)
	c.wantExit(8)
}

// npmProject makes a folder whose `npm start` is the command line.
func npmProject(t *testing.T, start string) (dir string) {
	t.Helper()
	need(t, "npm")
	dir = t.TempDir()
	text, err := json.Marshal(map[string]any{"name": "app", "version": "1.0.0", "scripts": map[string]string{"start": start}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// npm sends INT on to its child, which the key has reached already. Where bash
// runs the script, that is drainit itself; where npm is late, on a busy machine,
// drainit takes it for the second request that it looks like.
func TestTTYCtrlCUnderNpmIsOneRequest(t *testing.T) {
	need(t, "bash")
	t.Parallel()
	for _, shell := range []string{"/bin/sh", "/bin/bash"} {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			t.Parallel()
			dir := npmProject(t, "drainit --log-format json -- worker listen -catch INT,TERM -end INT,TERM -drain 1s")
			const runs = 10
			for range runs {
				c := atShell(t)
				c.enter("cd " + dir + " && npm --no-update-notifier --script-shell=" + shell + " start")
				c.ready()
				pressed := time.Now()
				c.keys("\x03")
				c.waitOut(`got SIG`)
				c.waitOut(`"msg":"stopped after `) // npm may have left before, if it was signalled before it was ready
				c.wantShown(`got SIG`, 1)
				if !strings.Contains(c.shown(), "force-stop:") {
					c.wantShown(`drained`, 1)
					return
				}
				wantForcedLate(t, c.shown(), pressed)
			}
			t.Errorf("the same key forced the stop in all of %d runs", runs)
		})
	}
}

func TestTTYCtrlZUnderNpmStopsAllOfIt(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]string{"does not read": "", "reads": "read x; "} {
		t.Run(name, func(t *testing.T) {
			beside(t, func(t *testing.T, under string) {
				dir := npmProject(t, under+"sh -c '"+read+"exec worker listen -catch USR1 -end USR1'")
				c := atShell(t)
				c.enter("cd " + dir + " && npm --no-update-notifier start")
				c.see(`> .*worker listen`)
				c.enter("abc")
				worker := c.ready()
				for range 2 {
					c.keys("\x1a")
					c.wantStopped()
					c.fg()
				}
				c.send(worker, unix.SIGUSR1)
				c.see(`drained`)
				c.prompt()
			})
		})
	}
}

// script(1) puts a terminal of its own between, whose session's leader is a
// shell that runs one command.
func TestTTYUnderScript(t *testing.T) {
	need(t, "script")
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		// script waits 10 ms for what its child has written last: it may not be shown.
		c.enter(`script -qec "` + under + `sh -c 'read x; echo it was \$x; read x; exit 3'" /dev/null`)
		c.enter("abc")
		c.see(`it was abc`)
		c.enter("")
		c.wantPrompt(3)
		c.enter(`script -qec "` + under + `worker listen -catch INT -end INT -drain 100ms -exit 7" /dev/null`)
		c.ready()
		c.keys("\x03")
		c.see(`got SIGINT`)
		c.wantPrompt(7)
		c.wantShown(`got SIGINT`, 1)
	})
}
