package health

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"drainit/internal/phase"
)

// published is what probes are answered after this.
func published(p phase.Phase, alive, stopped bool) *view {
	var s State
	s.Publish(p, alive, stopped)
	return s.now.Load()
}

func TestProbesOfAStoppedWorker(t *testing.T) {
	if v := published(phase.Running, true, true); v.word != "stopped" || v.ready || !v.healthy {
		t.Errorf("running: %+v", v)
	}
	if v := published(phase.Quiet, true, true); v.word != "quiet" || v.ready || !v.healthy {
		t.Errorf("quiet: %+v", v)
	}
}

func TestAnswerToAProbe(t *testing.T) {
	long := strings.Repeat("x", requestAtMost)
	tests := []struct {
		request string
		phase   phase.Phase
		lives   bool
		status  string
		body    string
	}{
		{"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", phase.Running, true, "200", "running\n"},
		{"GET /readyz HTTP/1.0\r\n\r\n", phase.Running, true, "200", "running\n"},
		{"GET /readyz HTTP/1.0\n\n", phase.Running, true, "200", "running\n"},
		{"GET /readyz HTTP/1.0\r\nA: b\n\r\nbody", phase.Running, true, "200", "running\n"},
		{"GET /readyz?x=/healthz&y HTTP/1.1\r\n\r\n", phase.Running, true, "200", "running\n"},
		{"GET /readyz?" + long[:4000] + " HTTP/1.1\r\n\r\n", phase.Running, true, "200", "running\n"},
		{"GET /readyz HTTP/1.1\r\n\r\n", phase.Starting, false, "503", "starting\n"},
		{"GET /readyz HTTP/1.1\r\n\r\n", phase.Quiet, true, "503", "quiet\n"},
		{"GET /readyz HTTP/1.1\r\n\r\n", phase.Draining, true, "503", "draining\n"},
		{"GET /readyz HTTP/1.1\r\n\r\n", phase.Killing, true, "503", "killing\n"},
		{"GET /readyz HTTP/1.1\r\n\r\n", phase.Done, false, "503", "done\n"},
		{"GET /healthz HTTP/1.1\r\n\r\n", phase.Starting, false, "503", "starting\n"},
		{"GET /healthz HTTP/1.1\r\n\r\n", phase.Running, true, "200", "running\n"},
		{"GET /healthz HTTP/1.1\r\n\r\n", phase.Quiet, true, "200", "quiet\n"},
		{"GET /healthz HTTP/1.1\r\n\r\n", phase.Draining, true, "200", "draining\n"},
		{"GET /healthz HTTP/1.1\r\n\r\n", phase.Draining, false, "503", "draining\n"},
		{"GET /healthz HTTP/1.1\r\n\r\n", phase.Killing, true, "200", "killing\n"},
		{"GET /healthz HTTP/1.1\r\n\r\n", phase.Killing, false, "503", "killing\n"},
		{"HEAD /readyz HTTP/1.1\r\n\r\n", phase.Running, true, "200", ""},
		{"HEAD /readyz HTTP/1.1\r\n\r\n", phase.Quiet, true, "503", ""},
		{"POST /readyz HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", phase.Running, true, "405", "takes GET\n"},
		{"get /readyz HTTP/1.1\r\n\r\n", phase.Running, true, "405", "takes GET\n"},
		{"GET / HTTP/1.1\r\n\r\n", phase.Running, true, "404", "there are /readyz and /healthz\n"},
		{"GET /readyz/ HTTP/1.1\r\n\r\n", phase.Running, true, "404", "there are /readyz and /healthz\n"},
		{"GET readyz HTTP/1.1\r\n\r\n", phase.Running, true, "404", "there are /readyz and /healthz\n"},
		{"GET  /readyz HTTP/1.1\r\n\r\n", phase.Running, true, "400", "not a request of HTTP/1.0 or 1.1\n"},
		{"GET /readyz HTTP/1.1 \r\n\r\n", phase.Running, true, "400", "not a request of HTTP/1.0 or 1.1\n"},
		{"GET /readyz HTTP/2.0\r\n\r\n", phase.Running, true, "400", "not a request of HTTP/1.0 or 1.1\n"},
		{"GET /readyz\r\n\r\n", phase.Running, true, "400", "not a request of HTTP/1.0 or 1.1\n"},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", phase.Running, true, "400", "not a request of HTTP/1.0 or 1.1\n"},
		{"\r\n\r\n", phase.Running, true, "400", "not a request of HTTP/1.0 or 1.1\n"},
		{" /readyz HTTP/1.1\r\n\r\n", phase.Running, true, "400", "not a request of HTTP/1.0 or 1.1\n"},
		{"\x16\x03\x01\x02\x00\n\n", phase.Running, true, "400", "not a request of HTTP/1.0 or 1.1\n"},
		{("GET /readyz HTTP/1.1\r\nA: " + long)[:requestAtMost], phase.Running, true, "431", "the request is too long\n"},
		{long, phase.Running, true, "431", "the request is too long\n"},
	}
	for _, tt := range tests {
		answer := string(appendAnswer(nil, []byte(tt.request), published(tt.phase, tt.lives, false)))
		head, body, _ := strings.Cut(answer, "\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.1 "+tt.status+" ") || body != tt.body {
			t.Errorf("%.60q in %v, %v: %q, want %s and %q", tt.request, tt.phase, tt.lives, answer, tt.status, tt.body)
		}
	}
}

func TestNoAnswerBeforeTheRequestIsAllThere(t *testing.T) {
	const whole = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
	for n := range len(whole) {
		if answer := appendAnswer(nil, []byte(whole[:n]), published(phase.Running, true, false)); len(answer) > 0 {
			t.Errorf("%q after %q", answer, whole[:n])
		}
	}
}

func TestWhereToListen(t *testing.T) {
	for _, s := range []string{":8080", "127.0.0.1:8080", "0.0.0.0:1", "[::1]:65535", "[::]:8080", "[fd00::2]:80", "[::ffff:127.0.0.1]:80"} {
		if a, err := ParseAddress(s); err != nil || !a.Given() || a.text != s {
			t.Errorf("%q is %+v, %v", s, a, err)
		}
	}
	for _, s := range []string{
		"", ":", "127.0.0.1", "127.0.0.1:", ":0", "127.0.0.1:0", ":65536", ":-1", ":http", "::1:8080", "[::1]",
		"[::1]8080", "[fe80::1%eth0]:80", "127.1:80", "127.0.0.256:80", ":80 ", " :80", "http://127.0.0.1:80", "[]:80", "[:80", "*:80", ":80\n",
	} {
		if a, err := ParseAddress(s); err == nil || a.Given() || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "an address and not a name") {
			t.Errorf("%q is %+v, %v", s, a, err)
		}
	}
}

// Whatever comes, the answer is one that clients can read, and 200 is never a
// mistake.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD /healthz?x HTTP/1.0\n\n", "POST / HTTP/1.1\r\n\r\n", "\n\n", "", "GET",
		"GET /readyz HTTP/1.1\r\nA: " + strings.Repeat("b", requestAtMost), "GET \x00 HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(s), byte(phase.Running), true)
	}
	f.Fuzz(func(t *testing.T, request []byte, ph byte, lives bool) {
		request = request[:min(len(request), requestAtMost)]
		p := phase.Phase(ph % (byte(phase.Done) + 1))
		answer := appendAnswer(nil, request, published(p, lives, false))
		if len(answer) == 0 {
			if len(request) == requestAtMost || bytes.Contains(request, []byte("\n\r\n")) {
				t.Fatalf("no answer to %q", request)
			}
			return
		}
		line, _, _ := bytes.Cut(request, []byte("\n"))
		word, _, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(" "))
		method := "GET"
		if string(word) == "HEAD" {
			method = "HEAD"
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%q to %q: %v", answer, request, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || method == "GET" && int64(len(body)) != resp.ContentLength || !resp.Close || !bytes.HasSuffix(answer, body) {
			t.Errorf("%q to %q: %v", answer, request, err)
		}
		if resp.StatusCode != http.StatusOK {
			return
		}
		ready := bytes.HasPrefix(request, []byte(method+" /readyz")) && p == phase.Running
		if healthy := bytes.HasPrefix(request, []byte(method+" /healthz")) && lives; !ready && !healthy {
			t.Errorf("200 to %q in %v", request, p)
		}
	})
}
