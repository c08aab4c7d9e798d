package ociruntime

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/sigqueue"
)

// call is a call of the runtime by an engine.
type call struct {
	name    string // by which it was started
	bundle  string // of the container that it makes, "" if it makes none
	log     string // the file for messages, "" for standard error
	logJSON bool
}

// readCall reads a command line of runc or crun: flags, a command, its flags.
func readCall(argv []string) call {
	valued := strings.Fields("log log-format log-level root criu rootless cgroup-manager " +
		"bundle b config f pid-file console-socket preserve-fds") // those of create and run
	command, given := "", make(map[string]string)
	for at := 1; at < len(argv); at++ {
		flag, value, joined := strings.Cut(strings.TrimLeft(argv[at], "-"), "=")
		switch {
		case !strings.HasPrefix(argv[at], "-"):
			command = cmp.Or(command, argv[at])
		case slices.Contains(valued, flag):
			if !joined && at+1 < len(argv) {
				at++
				value = argv[at]
			}
			given[flag] = value
		}
	}
	c := call{name: filepath.Base(argv[0]), log: given["log"], logJSON: given["log-format"] == "json"}
	if command == "create" || command == "run" {
		c.bundle = cmp.Or(given["bundle"], given["b"], ".")
	}
	return c
}

// say writes a line as runc would: into its log, whose last error an engine shows, or else on standard error.
func (c call) say(level string, err error) {
	text := logx.Printable(c.name + ": " + err.Error())
	if c.log != "" {
		form := "time=%[3]q level=%[1]s msg=%[2]q\n"
		if c.logJSON { // a text that can be printed is quoted in Go as in JSON
			form = `{"level":%[1]q,"msg":%[2]q,"time":%[3]q}` + "\n"
		}
		if c.appendToLog(fmt.Sprintf(form, level, text, time.Now().UTC().Format(time.RFC3339))) {
			return
		}
	}
	sigqueue.SurvivePipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = os.Stderr.WriteString(text + "\n") // a container starts whether it is read or not
	}()
	logx.AwaitWritten(written, unix.Stderr)
}

// appendToLog reports whether the log has taken a line. A pipe that no process reads takes none.
func (c call) appendToLog(line string) bool {
	const flags = unix.O_WRONLY | unix.O_APPEND | unix.O_CREAT | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Open(c.log, flags, 0o644)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	n, err := unix.Write(fd, []byte(line))
	return err == nil && n == len(line)
}

// wants reports whether the container is one to get drainit, by the annotations that containerd and CRI-O
// give it.
func (c call) wants(annotations node, namespaces []string) bool {
	note := func(names ...string) (value string) {
		for _, name := range names {
			value = cmp.Or(value, annotations.get(name).string())
		}
		return value
	}
	switch asked := note("drainit/init"); {
	case note("io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType") == "sandbox":
		return false
	case asked == "true":
		return true
	case asked == "false":
		return false
	case asked != "":
		names := strings.FieldsFunc(asked, func(r rune) bool { return r == ',' || r == ' ' })
		name := note("io.kubernetes.cri.container-name", "io.kubernetes.container.name")
		return slices.Contains(names, name)
	}
	namespace := note("io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace")
	return c.name == Name || slices.Contains(namespaces, namespace)
}
