package test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// winch is a worker that shows the size of its window whenever that changes.
const winch = `sh -c 'trap "stty size" WINCH; trap "exit 7" TERM; %secho ready $$; while :; do sleep 0.02; done'`

func TestTTYWindowSizeReachesTheWorker(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]string{"in the background": "", "which has the terminal": "read x; "} {
		t.Run(name, func(t *testing.T) {
			beside(t, func(t *testing.T, under string) {
				c := atShell(t)
				c.enter(under + strings.Replace(winch, "%s", read, 1))
				if read != "" {
					c.enter("abc")
				}
				worker := c.ready()
				for _, size := range [][2]uint16{{30, 100}, {31, 101}, {32, 102}} {
					setSize(t, c.master, size[0], size[1])
					c.see(fmt.Sprintf(`%d %d`, size[0], size[1]))
				}
				c.send(worker, unix.SIGTERM)
				c.wantPrompt(7)
				c.wantShown(`drainit: (stopping|draining|quiet)`, 0)
			})
		})
	}
}

func TestTTYWindowSizeReachesAWorkerWithoutAShellAbove(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		c := atConsole(t, Launch{NoPID1: noPID1, Args: []string{"--", workerBin, "listen", "-catch", "WINCH,TERM", "-exit", "7"}})
		c.ready()
		for n := range 3 {
			setSize(t, c.master, uint16(30+n), 100)
			c.see(`got SIGWINCH`)
		}
		c.signal(unix.SIGTERM)
		c.wantExit(7)
		c.wantShown(`got SIGWINCH`, 3)
	})
}

// The terminal is a matter of the session, and of no capability.
func TestTTYTerminalOfAContainerWithoutCapabilities(t *testing.T) {
	need(t, "setpriv", "bash")
	if os.Getuid() != 0 {
		skip(t, "needs root, to drop capabilities")
	}
	t.Parallel()
	for _, caps := range []string{"-all", "-all,+kill,+setuid,+setgid,+chown,+sys_chroot"} {
		t.Run(caps, func(t *testing.T) {
			t.Parallel()
			without := []string{"--bounding-set", caps, "--inh-caps", "-all", "--no-new-privs", drainitBin, "--"}
			c := atConsole(t, Launch{Bin: pathOf(t, "setpriv"), Args: append(without, "env", "PS1=inner% ", "bash", "--norc", "-i")})
			inShell(c)
			c.wantExit(5)
			c = atConsole(t, Launch{Bin: pathOf(t, "setpriv"), Args: append(without, "worker", "listen", "-catch", "INT", "-end", "INT", "-exit", "7")})
			c.ready()
			c.keys("\x03")
			c.wantExit(7)
			c.wantNothingLeft()
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
			c := atShell(t)
			c.enter("drainit -- sh -c 'exec worker listen -catch INT,USR1 -end INT -exit 7 >" + r.path + "' " + strings.Replace(redirect, "%s", file, 1))
			worker := r.ready(c)
			c.keys("\x1a")
			c.wantStopped()
			c.fg()
			c.send(worker, unix.SIGUSR1)
			r.wait("got SIGUSR1")
			c.keys("\x03")
			c.wantPrompt(7)
			r.want("got SIGINT", 1)
			log, _ := os.ReadFile(file)
			onTerminal := strings.Contains(name, "stderr")
			if strings.Contains(string(log), `"phase":"draining"`) == onTerminal {
				t.Errorf("the log in the file is %s", log)
			}
			if strings.Contains(c.shown(), "drainit: stopping") != onTerminal {
				t.Errorf("on the terminal is %s", c.shown())
			}
		})
	}
}

// Such a program opens the terminal by its name, whatever it was given.
func TestTTYWorkerReadsTheTerminalThatNoDescriptorIs(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.enter(under + `sh -c 'read x </dev/tty; echo x is $x >/dev/tty; exit 3' </dev/null >/dev/null 2>&1`)
		c.enter("abc")
		c.see(`x is abc`)
		c.wantPrompt(3)
	})
}

// A terminal that is not the session's own is a file as any other: no process takes it, so
// that its keys are no signals, though it would make them, and its modes are the worker's.
func TestTTYTerminalThatControlsNoProcess(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		master, slave := newConsole(t)
		echo := &output{more: make(chan struct{}), eof: make(chan struct{})}
		go echo.read(master)
		const worker = `stty -ixon; read x; echo x is $x; exec "$0" listen -catch INT,QUIT,TSTP,CONT,TERM -exit 7`
		p := launch(t, Launch{NoPID1: noPID1, Stdin: slave, Args: []string{"--", "sh", "-c", worker, workerBin}})
		if _, err := master.WriteString("abc\n"); err != nil {
			t.Fatal(err)
		}
		p.waitOut(`^x is abc`)
		p.waitOut(`^ready`)
		for key, shown := range map[string]string{"\x03": `\^C`, "\x1a": `\^Z`, "\x1c": `\^\\`} {
			if _, err := master.WriteString(key); err != nil {
				t.Fatal(err)
			}
			p.waitFor(echo, shown) // after the signal that it makes, if it does
		}
		p.signal(unix.SIGTERM)
		p.wantExit(7)
		if out := p.out(); !strings.HasSuffix(out, "\ngot SIGTERM\ndrained\n") || strings.Count(out, "got") != 1 {
			t.Errorf("the worker printed %q", out)
		}
	})
}
