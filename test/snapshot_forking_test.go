package test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// daemon is a worker that daemonizes by two forks: the one that stays is in a
// session that it does not lead, and its parent has gone.
const daemon = `
waitpid spawn {
	POSIX::setsid();
	spawn { $name = "daemon"; catch "TERM", "TSTP", "HUP", "CONT"; say "ready"; await "TERM"; nap 1.5; say "drained" };
}, 0;
POSIX::_exit(0)`

func TestForkingSeesADaemonThroughQuietAndDrain(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"-v", "--forking", longGrace}, script(daemon)...)})
		p.waitOut(`^ready`)
		p.waitErr(`exited with status 0 and runs on in 1 process`)
		for _, sig := range []string{"HUP", "TSTP", "CONT", "TERM"} {
			p.signal(map[string]syscall.Signal{"HUP": syscall.SIGHUP, "TSTP": syscall.SIGTSTP, "CONT": syscall.SIGCONT, "TERM": syscall.SIGTERM}[sig])
			p.waitOut(`^daemon got ` + sig)
		}
		p.wantExit(0)
		p.wantGots("daemon got HUP", "daemon got TSTP", "daemon got CONT", "daemon got TERM")
		p.wantCount("drained", 1)
		p.wantLogged(`flag --forking`, 0)
		p.wantNothingLeft()
	})
}

func TestWithoutForkingADaemonIsSignalledOnceAndTheFlagIsNamed(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{longGrace}, script(daemon)...)})
		p.waitErr(`exited with status 0 and left 1 process .*give drainit the flag --forking`)
		p.wantExit(0)
		p.wantLogged(`--forking`, 1)
		if got := gots(p.out()); len(got) > 1 {
			t.Errorf("signalled %q", got)
		}
		p.wantNothingLeft()
	})
}

// A daemon that ends by itself ends drainit, as a worker does.
func TestForkingEndsWithTheDaemon(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		stdin, exit := pipe(t)
		p := launch(t, Launch{NoPID1: noPID1, Stdin: stdin, Args: line([]string{"--forking"}, script(`
			waitpid spawn { POSIX::setsid(); spawn { say "ready"; hold 0 } }, 0; POSIX::_exit(0)`)...)})
		p.waitOut(`^ready`)
		p.waitErr(`runs on in`)
		exit.Close()
		p.wantExit(0)
		p.wantNothingLeft()
	})
}

// Most daemons do not wait for the one that forks the last time. Here it does so,
// and exits, when drainit has the list of all processes and reads of each: of the
// two it then sees none.
func TestForkingSeesADaemonThatForksUnderTheLook(t *testing.T) {
	t.Parallel()
	need(t, "strace", "perl")
	hold, begin := pipe(t)
	p := launch(t, Launch{NoPID1: true, Files: []*os.File{hold}, Bin: pathOf(t, "strace"), Args: append([]string{
		"-D", "-qq", "-o", "/dev/null", "-e", "trace=getdents64", "-e", "inject=getdents64:delay_exit=200000"},
		append([]string{drainitBin, "-v", "--forking", "--"}, script(`
			hold 3; spawn { POSIX::setsid(); nap 0.05; $name = "daemon"; catch "HUP", "TERM"; spawn { say "ready"; nap 0.01 until %got } }; POSIX::_exit(0)`)...)...)})
	worker := p.waitErr(`"started perl\[(\d+)\]`)[1]
	begin.Close()
	p.waitOut(`^ready`)
	waitUntil(t, "the worker has been waited for", func() bool {
		_, err := os.Stat("/proc/" + worker)
		return err != nil
	})
	p.signal(syscall.SIGHUP)
	if got := p.waitOut(`^daemon got (\w+)`)[1]; got != "HUP" {
		t.Errorf("the daemon was sent %s: drainit does not run on\n%s", got, p.err())
	}
	p.wantExit(0)
	p.wantNothingLeft()
}

// A worker that fails has not daemonized.
func TestForkingOfAWorkerThatFailsEndsAtOnce(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--forking", longGrace}, script(`
			catch "TERM"; $name = "child"; spawn { await "TERM" }; POSIX::_exit(3)`)...)})
		p.wantExit(3)
		p.wantGots("child got TERM")
		p.wantNothingLeft()
	})
}

// nginx daemonizes unless it is configured not to.
func TestForkingNginxFinishesTheDownloadInFlight(t *testing.T) {
	t.Parallel()
	need(t, "nginx")
	dir, port := serverDir(t, 0), reservePort(t)
	n := &nginx{addr: "127.0.0.1:" + strconv.Itoa(port), file: bytes.Repeat([]byte("drain"), 3<<20)}
	writeFile(t, filepath.Join(dir, "root", "file"), n.file)
	conf, err := os.ReadFile("testdata/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("\nUSER\n", "\n"+userLine(0)+"\n", "daemon off;", "", ":PORT", ":"+strconv.Itoa(port), " DIR/", " "+dir+"/")
	writeFile(t, filepath.Join(dir, "nginx.conf"), []byte(fill.Replace(string(conf))))
	n.Init = launch(t, Launch{Args: []string{"-v", longGrace, "--forking", "--rewrite", "TERM:QUIT",
		"--", "nginx", "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf")}})
	n.waitErr(`exited with status 0 and runs on in`)
	waitUntil(t, "nginx listens", func() bool { return n.running() && dialable(n.addr) == nil })
	d := n.download(t)
	n.signal(syscall.SIGTERM)
	waitRefused(t, n.addr)
	got, err := io.ReadAll(d)
	last := time.Now()
	if err != nil || !bytes.Equal(got, n.file) {
		t.Errorf("the client got %d bytes of %d, %v", len(got), len(n.file), err)
	}
	wantEndSince(t, n.Init, last)
	n.wantSignals(t, "SIGQUIT")
}
