package systems

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// request has a client wait for an answer in each slot of a server, beside two whose connections are kept
// alive and idle. It notes each answer that comes whole.
func (s *scene) request(t *testing.T) {
	t.Helper()
	for range 2 {
		client := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(client.CloseIdleConnections)
		harness.WaitUntil(t, "it answers", func() bool { return s.answers(client, "/") || !s.init.Running() })
	}
	for n := range s.slots {
		s.clients.Go(func() {
			begin := "begin " + strings.Split(s.named(n), ":")[0] + "\n"
			// Where its process has one in hand, a new connection may find another.
			for s.init.Running() && !strings.Contains(harness.SoFar(filepath.Join(s.dir, "record")), begin) {
				client := &http.Client{Transport: &http.Transport{}}
				if s.answers(client, "/"+s.named(n)) {
					s.note("done" + strings.TrimPrefix(begin, "begin"))
				}
				client.CloseIdleConnections()
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

// answers reports whether a client gets the whole answer to a request.
func (s *scene) answers(client *http.Client, path string) bool {
	response, err := client.Get(s.fill("http://127.0.0.1:$PORT" + path))
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return err == nil && response.StatusCode == http.StatusOK && string(body) == path
}
