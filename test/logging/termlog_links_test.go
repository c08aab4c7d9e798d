package logging

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// usersFolder is a folder of the worker's user, who can put anything there at any time, with an
// empty termination log in a folder below.
func usersFolder(t *testing.T) (dir, file string) {
	t.Helper()
	harness.NeedRoot(t)
	harness.Need(t, "setpriv")
	dir, err := os.MkdirTemp("", "drainit-termlog-")
	fatalIf(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	fatalIf(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	file = filepath.Join(dir, "sub", "termination-log")
	harness.WriteFile(t, file, nil)
	harness.GiveToNobody(t, dir)
	return dir, file
}

// rootsFile is an empty file of root's, on the same file system.
func rootsFile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-termlog-")
	fatalIf(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "termination-log")
	harness.WriteFile(t, file, nil)
	return file
}

// killedUser starts drainit as root with a worker of the other user, calls a function while
// it runs, and has it killed, which drainit has a message for.
func killedUser(t *testing.T, noPID1 bool, file string, meanwhile func()) *harness.Init {
	t.Helper()
	p := harness.Run(t, harness.Launch{NoPID1: noPID1,
		Args: harness.Line([]string{"--termination-log", file, "--grace=0"}, append(slices.Clone(harness.AsNobody), "sleep", "1000")...)})
	harness.WaitUntil(t, "the worker has become sleep", func() bool { return harness.Comm(p.FirstChild()) == "sleep" })
	p.WaitTitle("drainit:run")
	meanwhile()
	p.Signal(unix.SIGTERM)
	p.WantExit(137)
	return p
}

const notWritten = `"level":"warn".*cannot write the termination message to `

// replaced are what the worker's user can make of the log while it runs, so that root would
// write to a file of its own.
var replaced = map[string]func(t *testing.T, dir, file, victim string){
	"a symbolic link": func(t *testing.T, _, file, victim string) {
		fatalIf(t, os.Remove(file))
		fatalIf(t, os.Symlink(victim, file))
	},
	"a hard link": func(t *testing.T, _, file, victim string) {
		fatalIf(t, os.Remove(file))
		fatalIf(t, os.Link(victim, file))
	},
	"a symbolic link for its folder": func(t *testing.T, dir, _, victim string) {
		fatalIf(t, os.RemoveAll(filepath.Join(dir, "sub")))
		fatalIf(t, os.Symlink(filepath.Dir(victim), filepath.Join(dir, "sub")))
	},
}

// A termination log in a folder of the worker's user leads root nowhere else: nothing is
// written through a link, and a line says why the message is missing.
func TestTerminationLogIsNotWrittenThroughALink(t *testing.T) {
	for name, replace := range replaced {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				dir, file := usersFolder(t)
				victim := rootsFile(t)
				p := killedUser(t, noPID1, file, func() {
					replace(t, dir, file, victim)
					for _, path := range []string{file, filepath.Dir(file)} {
						fatalIf(t, os.Lchown(path, harness.PlainUser, -1)) // as who replaced it
					}
					fatalIf(t, os.Chown(victim, 0, -1))
					fatalIf(t, os.Chown(filepath.Dir(victim), 0, -1))
				})
				harness.WantLastMessage(t, victim, "")
				p.WantLogged(notWritten, 1)
			})
		})
	}
}

// A plain empty file in such a folder is written, as everywhere.
func TestTerminationLogOfTheWorkersUserIsWritten(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		_, file := usersFolder(t)
		p := killedUser(t, noPID1, file, func() {})
		harness.WantLastMessage(t, file, `^stopped after [\d.m]+s: killed sleep\[\d+\] \(grace period of 0s over\)`)
		p.WantLogged(`"level":"warn".*termination`, 0)
	})
}
