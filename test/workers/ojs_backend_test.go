package workers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"drainit/test/harness"
)

// call is one request that a worker made to the backend, as it was on the wire.
type call struct {
	at         time.Time
	verb       string   // heartbeat, fetch, ack, nack; or work: a job has begun
	State      string   `json:"state"`
	ActiveJobs []string `json:"active_jobs"`
	JobID      string   `json:"job_id"`
	Error      struct {
		Type      string `json:"type"`
		Retryable bool   `json:"retryable"`
	} `json:"error"`
}

// name is the call in one or two words: "heartbeat quiet", "ack job-1".
func (c call) name() string { return strings.TrimSpace(c.verb + " " + c.State + c.JobID) }

// backend serves the worker protocol of the Open Job Spec on the loopback and
// records each call. A job is a GET request, which ends when the test says so.
type backend struct {
	t      *testing.T
	server *httptest.Server
	mu     sync.Mutex
	calls  []call
	queued []string                 // jobs that were not fetched
	ends   map[string]chan struct{} // of jobs, closed when they may end
}

// startBackend starts a backend that has no jobs yet.
func startBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{t: t, ends: make(map[string]chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ojs/v1/workers/{verb}", b.answer)
	mux.HandleFunc("GET /jobs/{id}", b.work)
	b.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		b.server.CloseClientConnections()
		b.server.Close()
		if t.Failed() {
			t.Logf("on the wire:\n%s", b.story())
		}
	})
	return b
}

// startWire starts a backend for a scene's worker.
func startWire(t *testing.T, s *scene) {
	t.Helper()
	s.wire = startBackend(t)
	s.env = append(s.env, "OJS_URL="+s.wire.server.URL)
}

// answer records a call and gives the answer that it must get.
func (b *backend) answer(w http.ResponseWriter, r *http.Request) {
	c := call{at: time.Now(), verb: r.PathValue("verb")}
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		b.t.Errorf("%s: %v", c.verb, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
	reply := map[string]any{"state": "running"}
	if c.verb == "fetch" && len(b.queued) > 0 {
		id := b.queued[0]
		b.queued = b.queued[1:]
		url := b.server.URL + "/jobs/" + id
		reply["jobs"] = []any{map[string]any{
			"id": id, "type": "work", "queue": "default", "args": []string{url}}}
	}
	if err := json.NewEncoder(w).Encode(reply); err != nil {
		b.t.Errorf("cannot answer %s: %v", c.verb, err)
	}
}

// work is a job's: it lasts until the test ends it, or the worker gives it up.
func (b *backend) work(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if ok, known := b.atHand(id); known {
		w.WriteHeader(map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[ok])
		return
	}
	b.mu.Lock()
	b.calls = append(b.calls, call{at: time.Now(), verb: "work", JobID: id})
	end := b.ends[id]
	b.mu.Unlock()
	select {
	case <-end:
	case <-r.Context().Done():
	}
}

// enqueue adds a job, which a worker gets by its next fetch.
func (b *backend) enqueue(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends[id] = make(chan struct{})
	b.queued = append(b.queued, id)
}

// end lets a job end.
func (b *backend) end(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ends[id])
}

// made returns the calls so far.
func (b *backend) made() []call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// await waits for the n-th call of that name and returns it.
func (b *backend) await(name string, n int) (found call) {
	b.t.Helper()
	harness.WaitUntil(b.t, fmt.Sprintf("%s for the %d. time", name, n), func() bool {
		calls := slices.DeleteFunc(b.made(), func(c call) bool { return c.name() != name })
		if len(calls) < n {
			return false
		}
		found = calls[n-1]
		return true
	})
	return found
}

// lines has a line for each call: its name, the jobs of a heartbeat, and the error of a nack.
func (b *backend) lines() string {
	var s strings.Builder
	for _, c := range b.made() {
		fmt.Fprintln(&s, c.name(), c.ActiveJobs, c.Error.Type, c.Error.Retryable)
	}
	return s.String()
}

// story has a line for each call, but for those that go on and on by turns.
func (b *backend) story() string {
	var s strings.Builder
	var names []string
	for _, c := range b.made() {
		if slices.Contains(names[max(0, len(names)-2):], c.name()) {
			continue
		}
		names = append(names, c.name())
		fmt.Fprintf(&s, "%s %s, jobs %v\n", c.at.Format("05.000"), c.name(), c.ActiveJobs)
	}
	return s.String()
}
