package harness

import (
	"bytes"
	"os"
	"sync"
	"testing"
)

// Output collects what comes through a pipe.
type Output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	More chan struct{} // closed and replaced when something came
	Eof  chan struct{} // closed at the end; nil where the caller reads
}

// sink returns the write end for a child: the caller's own, or that of a pipe
// which an output reads.
func sink(t *testing.T, own *os.File) (*os.File, *Output) {
	o := &Output{More: make(chan struct{})}
	if own != nil {
		return own, o
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o.Eof = make(chan struct{})
	go o.Read(r)
	return w, o
}

// Read collects what comes through a pipe, to its end.
func (o *Output) Read(r *os.File) {
	defer r.Close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		o.mu.Lock()
		o.buf.Write(chunk[:n])
		close(o.More)
		o.More = make(chan struct{})
		o.mu.Unlock()
		if err != nil {
			close(o.Eof)
			return
		}
	}
}

// Look is the text so far, and what is closed when more has come.
func (o *Output) Look() (text string, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String(), o.More
}

// Text is what has come so far.
func (o *Output) Text() string { s, _ := o.Look(); return s }
