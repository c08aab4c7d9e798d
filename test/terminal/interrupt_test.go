package terminal

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
	"drainit/test/harness/rows"
)

// Whatever is above drainit, the session's leader or PID 1 itself.
func TestTTYCtrlCReachesTheWorkerOnceWithoutAShell(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		c := console.At(t, harness.Launch{NoPID1: noPID1,
			Args: harness.Words("-- WORKER listen -catch INT,USR1 -end USR1 -exit 7")})
		c.Ready()
		c.Keys("\x03")
		c.See(`got SIGINT`)
		c.WaitOut(`drainit: stopping`)
		c.Signal(unix.SIGUSR1)
		c.WantExit(7)
		c.WantShown(`got SIGINT`, 1)
	})
}

// A tool may start the application by a shell that keeps INT until the application has ended, and pass no
// signal on, as nest start does. The kernel sends a key's signal to each of them, and so does drainit, but
// once: npm passes it on, too.
func TestTTYCtrlCReachesWhatAToolStarts(t *testing.T) {
	t.Parallel()
	harness.Need(t, "npm", "node")
	for name, command := range map[string]string{"npm": "npm start", "node": "node tool.js"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := harness.Launch{NoPID1: true, Dir: t.TempDir(), Args: harness.Words("-- " + command)}
			harness.WriteFile(t, l.Dir+"/package.json", `{"scripts": {"start": "node tool.js"}}`)
			harness.WriteFile(t, l.Dir+"/tool.js", `require("child_process").spawn("node app.js; exit $?",
				{ shell: true, stdio: "inherit" }).on("exit", (code) => process.exit(code))`)
			harness.WriteFile(t, l.Dir+"/app.js", `
				for (const sig of ["SIGINT", "SIGTERM"]) process.on(sig, () => {
					console.log("got " + sig);
					setTimeout(() => { console.log("done"); process.exit(); }, 300);
				});
				setInterval(() => {}, 1000);
				console.log("ready " + process.pid);`)
			c := console.At(t, l)
			c.Ready()
			c.Keys("\x03")
			c.See(`done`)
			c.Wait()
			c.WantShown(`got SIG`, 1)
			c.WantShown(`only now`, 0)
			c.WantNothingLeft()
		})
	}
}

// Ctrl-\ reaches a script and its command, as the kernel sends it.
func TestTTYCtrlBackslashEndsAScript(t *testing.T) {
	t.Parallel()
	c := console.At(t, harness.Launch{NoPID1: true,
		Args: []string{"--", "bash", "-c", `echo "ready $$"; sleep 1000; exit 7`}})
	c.Ready()
	c.WaitStarted(harness.Patience)
	c.Keys("\x1c")
	c.WantExit(7)
}

// After fg, too, when the keys are drainit's again.
func TestTTYSecondCtrlCKills(t *testing.T) {
	t.Parallel()
	c := console.AtShell(t)
	startWorker(c, "drainit -- worker listen -catch INT,TERM -end INT,TERM -drain 1h")
	ctrlZAndFg(c, 1)
	c.Keys("\x03")
	c.See(`got SIG`)
	c.WaitOut(`drainit: stopping`)
	harness.PastTheSameRequest()
	c.Keys("\x03")
	c.See(`drainit: warning: second stop signal, force-stop: killing worker`)
	c.WantPrompt(137)
	c.WantShown(`got SIG`, 1)
}

// reraises is a program that handles INT, cleans up and dies of it, as careful
// ones do.
const reraises = `use POSIX; sub clean { $SIG{INT} = q(DEFAULT); kill INT => getpid } $SIG{INT} = ` +
	`q(clean); syswrite STDOUT, q(ready ).getpid.qq(\n); sleep 1 while 1`

// interrupted are workers that one Ctrl-C ends, and the loop around them with it.
var interrupted = map[string]struct {
	command string
	reads   bool // has the terminal, so that drainit does not get the key
}{
	"dies of it":         {"worker listen -catch USR1", false},
	"is a shell":         {`sh -c 'sh -c "echo ready \$\$; exec sleep 1000"; echo not reached'`, false},
	"cleans up and dies": {"perl -e '" + reraises + "'", false},
	"reads":              {`sh -c 'read x; echo ready $$; read y; echo not reached'`, true},
}

// pressCtrlC presses it once when the worker is there, and has the terminal if it
// reads that.
func pressCtrlC(c *console.Console, reads bool) {
	c.T.Helper()
	if reads {
		c.Enter("abc")
	}
	c.Ready()
	c.Keys("\x03")
}

func TestTTYCtrlCEndsALoop(t *testing.T) {
	harness.Usual(t)
	for name, w := range interrupted {
		t.Run(name, func(t *testing.T) {
			harness.Need(t, "perl")
			inShells(t, func(t *testing.T, c *console.Console, under string) {
				c.Enter("for n in 1 2 3; do " + under + w.command + "; echo af''ter $n; done")
				pressCtrlC(c, w.reads)
				c.WantPrompt(130)
				c.Enter("echo mark$((1+1))")
				c.See(`^mark2`)
				c.WantShown(`^after|^not reached`, 0)
			})
		})
	}
}

// A script has no job control. Where the worker has the terminal the shell does not get the key, but goes by
// how drainit's group ended.
func TestTTYCtrlCEndsAScript(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) {
			harness.Need(t, shell)
			console.Beside(t, func(t *testing.T, under string) {
				c := console.At(t, harness.Launch{Bin: "/bin/" + shell, NoPID1: true,
					Args: []string{"-c", "for n in 1 2 3; do " + under + interrupted["reads"].command +
						"; echo after $n; done; exit 0"}})
				pressCtrlC(c, true)
				c.WantExit(130)
				if !c.Status.Signaled() {
					t.Error("the script has not died of SIGINT")
				}
				c.WantNothingLeft()
				c.WantShown(`^after|^not reached`, 0)
			})
		})
	}
}

func TestTTYWhoEndsByInterruptItself(t *testing.T) {
	harness.Usual(t)
	t.Parallel()
	for _, row := range rows.Read(t, "testdata/endings.tsv", 6) {
		t.Run(row[0], func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(row[1]), "--", "sh", "-c",
				strings.ReplaceAll(row[2], "RERAISES", reraises))
			c := console.At(t, harness.Launch{NoPID1: !strings.HasPrefix(row[0], "PID 1"), Args: args})
			if row[3] != "" {
				c.Ready()
				c.Signal(map[string]unix.Signal{"INT": unix.SIGINT, "TERM": unix.SIGTERM}[row[3]])
			}
			c.WantExit(harness.Number(t, row[4]))
			if byINT := row[5] != ""; c.Status.Signaled() != byINT {
				t.Errorf("ended by a signal: %t, want %t", c.Status.Signaled(), byINT)
			}
			c.WantNothingLeft()
		})
	}
}
