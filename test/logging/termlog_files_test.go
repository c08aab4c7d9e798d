package logging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// dies launches a drainit that has something to say at its end, and that no
// file of any kind may hold up.
func dies(t *testing.T, l harness.Launch) (log string) {
	t.Helper()
	l.Args = append(l.Args[:len(l.Args):len(l.Args)], "--grace=0", "--log-format=text", "--", "sleep", "1000")
	p := harness.Run(t, l)
	p.WaitUntilStarted()
	p.Signal(syscall.SIGTERM)
	p.WantExit(137)
	return p.Err()
}

const killedSleep = `^stopped after [\d.m]+s: killed sleep\[\d+\] \(grace period of 0s over\); exit status 137$`

func TestTerminationLogByFlagAndVariable(t *testing.T) {
	for name, give := range map[string]func(file, other string) (args, env []string){
		"flag":     func(file, _ string) (_, _ []string) { return []string{"--termination-log=" + file}, nil },
		"variable": func(file, _ string) (_, _ []string) { return nil, []string{"DRAINIT_TERMINATION_LOG=" + file} },
		"flag wins": func(file, other string) (_, _ []string) {
			return []string{"--termination-log", file}, []string{"DRAINIT_TERMINATION_LOG=" + other}
		},
		"flag, relative": func(string, string) (_, _ []string) { return []string{"--termination-log=termination-log"}, nil },
		"variable, ./file": func(string, string) (_, _ []string) {
			return nil, []string{"DRAINIT_TERMINATION_LOG=./termination-log"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				file, other := harness.EmptyFile(t), harness.EmptyFile(t)
				args, env := give(file, other)
				dies(t, harness.Launch{NoPID1: noPID1, Dir: filepath.Dir(file), Args: args, Env: env})
				harness.WantLastMessage(t, file, killedSleep)
				harness.WantLastMessage(t, other, "")
			})
		})
	}
}

// inScratch kills a worker in an image of its own, whose /dev/termination-log
// is as prepare makes it.
func inScratch(t *testing.T, prepare func(file string), setup harness.Setup, args, env []string) (file, log string) {
	t.Helper()
	harness.NeedRoot(t)
	setup.Root = harness.Scratch(t)
	file = filepath.Join(setup.Root, "dev/termination-log")
	prepare(file)
	p := harness.Run(t, harness.Launch{Bin: "/drainit", Setup: setup, Env: env,
		Args: append(args, "--grace=0", "--log-format=text", "--", "/worker", "listen")})
	p.WaitOut(`^ready`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(137)
	return file, p.Err()
}

func TestTerminationLogByDefault(t *testing.T) {
	t.Parallel()
	empty := func(file string) { harness.WriteFile(t, file, nil) }
	for name, tt := range map[string]struct {
		prepare   func(file string)
		setup     harness.Setup
		args, env []string
		says      string
	}{
		"there":                   {empty, harness.Setup{}, nil, nil, `^stopped after [\d.m]+s: killed worker\[\d+\] \(grace period of 0s over\)`},
		"there, plain user":       {empty, harness.Setup{UID: harness.PlainUser}, nil, nil, `^stopped after [\d.m]+s: killed worker\[\d+\] \(grace period of 0s over\)`},
		"written before":          {func(file string) { harness.WriteFile(t, file, []byte("mine")) }, harness.Setup{}, nil, nil, `^mine$`},
		"turned off":              {empty, harness.Setup{}, []string{"--termination-log="}, nil, ``},
		"turned off by two words": {empty, harness.Setup{}, []string{"--termination-log", ""}, nil, ``},
		"turned off by variable":  {empty, harness.Setup{}, nil, []string{"DRAINIT_TERMINATION_LOG="}, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, log := inScratch(t, func(file string) {
				tt.prepare(file)
				if err := os.Chmod(file, 0o666); err != nil { // as the kubelet does
					t.Fatal(err)
				}
			}, tt.setup, tt.args, tt.env)
			harness.WantLastMessage(t, file, tt.says)
			wantNoWarning(t, log)
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		file, log := inScratch(t, func(string) {}, harness.Setup{}, nil, nil)
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("it was made: %v", err)
		}
		wantNoWarning(t, log)
	})
}

func wantNoWarning(t *testing.T, log string) {
	t.Helper()
	if strings.Contains(log, "termination message") {
		t.Errorf("a warning:\n%s", log)
	}
}

// Nothing that lies where the file should be may hold drainit up or change its
// exit status. Where it was named, a line says so; files that did not exist still don't.
func TestTerminationLogThatCannotBeWritten(t *testing.T) {
	for name, place := range unwritable {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				harness.NeedRoot(t)
				file := filepath.Join(shared(t), "termination-log")
				check := place(t, file)
				l := harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: harness.PlainUser}, Args: []string{"--termination-log", file}}
				log := dies(t, l)
				if n := len(regexp.MustCompile(`(?m)^drainit: warning: .*termination.*$`).FindAllString(log, -1)); n != 1 {
					t.Errorf("%d warnings, want one:\n%s", n, log)
				}
				check()
			})
		})
	}
}

// shared is a folder that a plain user may enter, but not write to.
func shared(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(harness.WorkerBin), "shared-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func fatalIf(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unwritable puts something where the termination log should be, and returns
// what is to be checked afterwards.
var unwritable = map[string]func(t *testing.T, file string) (check func()){
	"missing": func(t *testing.T, file string) func() {
		return func() {
			if _, err := os.Lstat(file); !os.IsNotExist(err) {
				t.Errorf("it was made: %v", err)
			}
		}
	},
	"missing folder": func(t *testing.T, file string) func() { fatalIf(t, os.Remove(filepath.Dir(file))); return func() {} },
	"folder":         func(t *testing.T, file string) func() { fatalIf(t, os.Mkdir(file, 0o777)); return func() {} },
	"read-only": func(t *testing.T, file string) func() {
		fatalIf(t, os.WriteFile(file, nil, 0o444))
		return func() { harness.WantLastMessage(t, file, "") }
	},
	"link to nothing": func(t *testing.T, file string) func() {
		fatalIf(t, os.Symlink(file+"-2", file))
		return func() {
			if _, err := os.Lstat(file + "-2"); !os.IsNotExist(err) {
				t.Errorf("it was made: %v", err)
			}
		}
	},
	"socket": func(t *testing.T, file string) func() {
		fatalIf(t, unix.Mknod(file, unix.S_IFSOCK|0o777, 0))
		return func() {}
	},
	"FIFO without a reader": func(t *testing.T, file string) func() {
		makeFIFO(t, file)
		return func() {}
	},
	"FIFO with a reader": func(t *testing.T, file string) func() {
		makeFIFO(t, file)
		r, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
		fatalIf(t, err)
		return func() {
			defer r.Close()
			if n, _ := r.Read(make([]byte, 1)); n > 0 {
				t.Error("something came through")
			}
		}
	},
}

func makeFIFO(t *testing.T, file string) {
	t.Helper()
	fatalIf(t, unix.Mkfifo(file, 0o666))
	fatalIf(t, os.Chmod(file, 0o666))
}

// It is for what the status does not say: a drainit with nothing to say has no
// need of the file.
func TestTerminationLogThatIsNotNeededIsNoWarning(t *testing.T) {
	r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: []string{"--termination-log=/nowhere/at/all", "--", "sh", "-c", "exit 1"}})
	if r.Status != 1 || r.Err != "" {
		t.Errorf("exit status %d, stderr %q", r.Status, r.Err)
	}
}
