package workers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// serverWays are the starts of what serves clients, and of two runtimes whose
// programs handle the signal themselves.
var serverWays = slices.Concat(
	nginxWays,
	[]way{gunicornWay, pumaWay, throughShell(pumaWay)},
	runtimeWays,
	[]way{rabbitmqWay},
)

// debianPath is where Debian's programs are, before what else may be installed:
// its Python knows its Python programs' modules.
const debianPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

// nginxWays are the starts of nginx, which cuts its clients off on TERM and
// lets them finish on QUIT.
var nginxWays = []way{
	nginxWay("`nginx`, `TERM:QUIT`", func(_ *testing.T, _ *scene, nginx string) []string {
		return strings.Fields(nginx)
	}),
	nginxWay("`bash start.sh` → nginx, `TERM:QUIT`", func(t *testing.T, s *scene, nginx string) []string {
		s.write(t, "start.sh", "#!/bin/bash\n"+nginx+"\n")
		return []string{"bash", "start.sh"}
	}),
	nginxWay("`sh -c 'nginx; exit $?'`, `TERM:QUIT`", func(_ *testing.T, _ *scene, nginx string) []string {
		return []string{"sh", "-c", nginx + "; exit $?"}
	}),
}

func nginxWay(name string, start func(t *testing.T, s *scene, nginx string) []string) way {
	return way{
		name:      name,
		programs:  []string{"nginx", "bash"},
		flags:     []string{"--rewrite", "TERM:QUIT"},
		dumbInit:  []string{"-r", "15:3"},
		uncounted: true,
		prepare: func(t *testing.T, s *scene) []string {
			dir := harness.ServerDir(t, 0)
			conf, err := os.ReadFile("testdata/nginx.conf")
			if err != nil {
				t.Fatal(err)
			}
			// How long a download takes is the client's business here.
			fill := strings.NewReplacer("\nUSER\n", "\n"+userLine(0)+"\n", ":PORT", ":"+strconv.Itoa(s.port),
				" DIR/", " "+dir+"/", "limit_rate 4m;", "")
			harness.WriteFile(t, filepath.Join(dir, "nginx.conf"), []byte(fill.Replace(string(conf))))
			harness.WriteFile(t, filepath.Join(dir, "root", "file"), nginxFile(s))
			return start(t, s, "nginx -p "+dir+" -e stderr -c "+filepath.Join(dir, "nginx.conf"))
		},
		begin: slowDownload,
		kept:  func(t *testing.T, s *scene) bool { return s.answered(t) == string(nginxFile(s)) },
	}
}

// nginxFile is what nginx serves in a scene: more than the buffers of both
// sockets, so that what the client has not read can't have been sent.
func nginxFile(s *scene) []byte {
	file := make([]byte, 16<<20)
	rand.New(rand.NewSource(int64(s.port))).Read(file)
	return file
}

// slowDownload begins to read the file, and reads on when the job's time is
// over.
func slowDownload(t *testing.T, s *scene) {
	n := &nginx{addr: "127.0.0.1:" + strconv.Itoa(s.port)}
	harness.WaitUntil(t, "nginx listens", func() bool { return dialable(n.addr) == nil })
	rest := n.download(t)
	s.note("begin")
	s.answer = make(chan string, 1)
	go func() {
		select {
		case <-time.After(s.job):
		case <-t.Context().Done():
			return
		}
		s.note("done") // before the rest: nginx may be gone before it has been read
		body, err := io.ReadAll(rest)
		if err != nil {
			body = fmt.Appendf(body, "%v", err)
		}
		s.answer <- string(body)
	}()
}

// gunicornWay has a master and three workers, which the master tells and looks
// for each 0.1 s.
var gunicornWay = way{
	name:     "`gunicorn`, 3 workers",
	programs: []string{"gunicorn"},
	leaves:   300 * time.Millisecond,
	tells:    1,
	prepare: func(t *testing.T, s *scene) []string {
		dir := s.python(t)
		return []string{"gunicorn", "-c", filepath.Join(dir, "gunicorn.conf.py"), "-b", "127.0.0.1:" + strconv.Itoa(s.port), "gunicorn_app"}
	},
	begin: request,
	kept:  answeredWhole,
}

// pumaWay ends by raising the signal again, when all is answered.
var pumaWay = way{
	name:     "`puma`",
	programs: []string{"puma"},
	status:   143,
	prepare: func(t *testing.T, s *scene) []string {
		return []string{"puma", "-b", "tcp://127.0.0.1:" + strconv.Itoa(s.port), testdata(t, "puma.ru")}
	},
	begin: request,
	kept:  answeredWhole,
}

// throughShell is a way's command as the only one of a dash, which stays above
// it, as Debian's does.
func throughShell(w way) way {
	w.name = "`sh -c '" + strings.Trim(w.name, "`") + "'`"
	prepare := w.prepare
	w.prepare = func(t *testing.T, s *scene) []string {
		return []string{"sh", "-c", strings.Join(prepare(t, s), " ")}
	}
	return w
}

// request asks the scene's server for an answer, which takes the job's time,
// as soon as the server listens.
func request(t *testing.T, s *scene) {
	ctx := t.Context()
	s.answer = make(chan string, 1)
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(s.port), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		for {
			response, err := client.Do(get)
			switch {
			case errors.Is(err, unix.ECONNREFUSED) && ctx.Err() == nil:
				time.Sleep(10 * time.Millisecond)
				continue
			case err != nil:
				s.answer <- err.Error()
				return
			}
			var body bytes.Buffer
			if _, err := body.ReadFrom(response.Body); err != nil {
				body.WriteString(err.Error())
			}
			response.Body.Close()
			s.answer <- body.String()
			return
		}
	}()
}

// answeredWhole reports whether the client got the server's whole answer.
func answeredWhole(t *testing.T, s *scene) bool { return s.answered(t) == "whole\n" }

// answered waits for what came to the scene's client.
func (s *scene) answered(t *testing.T) string {
	t.Helper()
	select {
	case answer := <-s.answer:
		return answer
	case <-time.After(harness.Patience):
		t.Errorf("the client still has no answer after %v", harness.Patience)
		return ""
	}
}

// note writes a line to the record for a worker that can't do it itself.
func (s *scene) note(words string) {
	f, err := os.OpenFile(s.record, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return // the scene is over, and its folder gone
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %.3f\n", words, float64(time.Now().UnixMilli())/1000)
}

// noteDone writes "done" to the record as soon as that is so, which a program's own log
// may tell and nothing else. It looks for the last time when the init has ended.
func (s *scene) noteDone(t *testing.T, done func() bool) {
	s.noted = make(chan struct{})
	go func() {
		defer close(s.noted)
		for over := false; !over && t.Context().Err() == nil; time.Sleep(5 * time.Millisecond) {
			over = !s.init.Running()
			if done() {
				s.note("done")
				return
			}
		}
	}()
}

// testdata is where a file of the workers' sources is, from any folder.
func testdata(t *testing.T, name string) string {
	t.Helper()
	return harness.Testdata(t, "matrix", name)
}

// python lets Python programs import the workers' sources, and returns where
// those are.
func (s *scene) python(t *testing.T) string {
	t.Helper()
	dir := testdata(t, "")
	s.env = append(s.env, debianPath, "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	return dir
}
