package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
	"drainit/test/harness/rows"
)

// scripts are what a script runs before it goes on to use the terminal itself.
var scripts = map[string]struct {
	command string
	talk    func(c *console.Console)
}{
	"read": {`sh -c 'read x; echo it was $x'`,
		func(c *console.Console) { c.Enter("abc"); c.See(`it was abc`) }},
	"background children": {`sh -c 'read x; sleep 0.1 & exit 0'`,
		func(c *console.Console) { c.Enter("abc") }},
	"bash":                  {bashInside, func(c *console.Console) { c.See(`inner% `); inShell(c) }},
	"a job of a dead shell": {dashInside, killShellOfAJob},
	"less":                  {"less lines", func(c *console.Console) { c.See(`7mlines`); c.Keys("q") }},
}

// killShellOfAJob leaves the terminal to the job of a shell that is killed.
func killShellOfAJob(c *console.Console) {
	c.See(`inner% `)
	c.Enter(`sh -c 'kill -9 $PPID; exec worker listen -catch USR1,TERM'`)
}

// The terminal is usable after drainit, without a shell that puts it right: in
// the script's own group, with the modes as they were.
func TestTTYScriptGoesOnUsingTheTerminal(t *testing.T) {
	harness.Need(t, "bash", "dash", "less")
	t.Parallel()
	for name, s := range scripts {
		for _, shell := range []string{"/bin/dash", "/bin/bash"} {
			t.Run(name+" in "+filepath.Base(shell), func(t *testing.T) {
				t.Parallel()
				c := console.At(t, harness.Launch{Bin: shell, NoPID1: true, Args: []string{"-c",
					`echo begin; stty -a; drainit -- ` + s.command +
						`; stty -a; echo end; read y; echo y is $y; exit 8`}})
				c.See(`begin`)
				before := c.See(`(?s)speed .*?-extproc`)[0]
				s.talk(c)
				if after := c.See(`(?s)speed .*?-extproc`)[0]; after != before {
					t.Errorf("the modes were\n%s\nand are\n%s", before, after)
				}
				c.See(`end`)
				enterY(c)
				c.WantExit(8)
				c.WantNothingLeft()
			})
		}
	}
}

func pages(c *console.Console) {
	c.See(`20`)
	inPager(c)
}

func TestTTYPipelinesFindNoDifference(t *testing.T) {
	harness.Need(t, "bash", "less")
	t.Parallel()
	for _, row := range rows.Read(t, "testdata/pipelines.tsv", 7) {
		typed, seen := row[3], row[4:]
		talk := func(c *console.Console) {
			for _, pattern := range seen {
				switch {
				case pattern == "pages":
					pages(c)
				case typed != "" && pattern != "":
					c.Enter(typed)
					c.See(pattern)
				case pattern != "":
					c.See(pattern)
				}
			}
		}
		t.Run(row[0], func(t *testing.T) {
			console.Beside(t, func(t *testing.T, under string) {
				talkAtShell(t, strings.ReplaceAll(row[1], "UNDER ", under), talk, harness.Number(t, row[2]))
			})
		})
	}
}

// An image that has drainit, under docker run --init with another: the outer one lends
// the terminal to the inner one, and that to its worker.
func TestTTYDrainitBelowDrainitHasTheTerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"drainit -- drainit -- sh reads",
		"drainit -- sh -c 'drainit -- sh reads; exit $?'"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			c := console.AtShell(t)
			c.Enter(`echo 'read x; echo x is $x, ready $$; read y; echo y is $y; exit 3' >reads`)
			c.WantPrompt(0)
			shell := c.Foreground()
			startReader(c, command)
			for range 2 {
				ctrlZ(c)
				c.WaitForeground(shell)
				fg(c)
			}
			enterY(c)
			c.WantPrompt(3)
			c.WantForeground(shell)
		})
	}
}

// A worker that stops itself, by whichever signal, is a job that is stopped.
func TestTTYWorkerThatStopsItselfStopsTheJob(t *testing.T) {
	t.Parallel()
	for _, sig := range []string{"TSTP", "STOP"} {
		t.Run(sig, func(t *testing.T) {
			console.BesideAtShell(t, func(t *testing.T, c *console.Console, under string) {
				c.Enter(under + `sh -c 'kill -` + sig + ` $$; echo it is ba""ck; exit 3'`)
				c.See(`Stopped`)
				c.Prompt()
				c.Enter("fg")
				c.See(`it is back`)
				c.WantPrompt(3)
			})
		})
	}
}

// winch is a worker that shows the size of its window whenever that changes.
const winch = `sh -c 'trap "stty size" WINCH; trap "exit 7" TERM; %secho ready $$; while :; do sleep ` +
	`0.02; done'`

func TestTTYWindowSizeReachesTheWorker(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]string{"in the background": "", "which has the terminal": "read x; "} {
		t.Run(name, func(t *testing.T) {
			console.BesideAtShell(t, func(t *testing.T, c *console.Console, under string) {
				c.Enter(under + strings.Replace(winch, "%s", read, 1))
				if read != "" {
					c.Enter("abc")
				}
				worker := c.Ready()
				for _, size := range [][2]uint16{{30, 100}, {31, 101}, {32, 102}} {
					harness.Must(t, harness.Control(c.Master, func(fd int) error {
						return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ,
							&unix.Winsize{Row: size[0], Col: size[1]})
					}))
					c.See(fmt.Sprintf(`%d %d`, size[0], size[1]))
				}
				harness.Kill(c.T, worker, unix.SIGTERM)
				c.WantPrompt(7)
				c.WantShown(`drainit: (stopping|draining|quiet)`, 0)
			})
		})
	}
}

// Which of the standard descriptors the terminal is does not matter: it is the
// session's. What stderr is decides on the format of the log.
func TestTTYTerminalOnSomeDescriptorsOnly(t *testing.T) {
	t.Parallel()
	for name, redirect := range map[string]string{
		"stdin":             ">/dev/null 2>%s",
		"stdin and stdout":  "2>%s",
		"stdout and stderr": "</dev/null",
		"stderr":            "</dev/null >/dev/null",
		"none":              "</dev/null >/dev/null 2>%s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := t.TempDir() + "/log"
			r := newRecord(t)
			c := console.AtShell(t)
			c.Enter("drainit -- sh -c 'exec worker listen -catch INT,USR1 -end INT -exit 7 >" + r.path +
				"' " + strings.Replace(redirect, "%s", file, 1))
			worker := r.ready(c)
			ctrlZ(c)
			fg(c)
			harness.Kill(c.T, worker, unix.SIGUSR1)
			r.wait("got SIGUSR1")
			c.Keys("\x03")
			c.WantPrompt(7)
			r.want("got SIGINT", 1)
			log, _ := os.ReadFile(file)
			onTerminal := strings.Contains(name, "stderr")
			if strings.Contains(string(log), `"phase":"draining"`) == onTerminal {
				t.Errorf("the log in the file is %s", log)
			}
			if strings.Contains(c.Shown(), "drainit: stopping") != onTerminal {
				t.Errorf("on the terminal is %s", c.Shown())
			}
		})
	}
}

// A terminal that is not the session's own is a file as any other: no process takes it, so
// that its keys are no signals, though it would make them, and its modes are the worker's.
func TestTTYTerminalThatControlsNoProcess(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		master, slave := harness.NewTerminal(t)
		echo := harness.Collect(master)
		const worker = `stty -ixon; read x; echo x is $x; exec "$0" listen -catch INT,QUIT,TSTP,CONT,TERM ` +
			`-exit 7`
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stdin: slave,
			Args: []string{"--", "sh", "-c", worker, harness.WorkerBin}})
		if _, err := master.WriteString("abc\n"); err != nil {
			t.Fatal(err)
		}
		p.WaitOut(`^x is abc`)
		p.WaitOut(`^ready`)
		for key, shown := range map[string]string{"\x03": `\^C`, "\x1a": `\^Z`, "\x1c": `\^\\`} {
			if _, err := master.WriteString(key); err != nil {
				t.Fatal(err)
			}
			p.WaitFor(echo, shown) // after the signal that it makes, if it does
		}
		p.Signal(unix.SIGTERM)
		p.WantExit(7)
		if out := p.Out(); !strings.HasSuffix(out, "\ngot SIGTERM\ndrained\n") ||
			strings.Count(out, "got") != 1 {
			t.Errorf("the worker printed %q", out)
		}
	})
}
