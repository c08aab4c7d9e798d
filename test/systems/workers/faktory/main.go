// Command faktory is a broker that speaks as much of Faktory's protocol as its workers need, on the port that
// it is given: https://github.com/contribsys/faktory/wiki/Worker-Lifecycle. INFO lists the jobs that wait,
// and those that workers hold.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"drainit/test/systems/workers"
)

type job struct {
	ID    string            `json:"jid"`
	Queue string            `json:"queue"`
	Args  []json.RawMessage `json:"args"`
	text  string
}

// broker has the jobs that wait, and those that workers hold.
type broker struct {
	sync.Mutex
	waiting []job
	held    map[string]job
	more    chan struct{} // closed when a job has come
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	workers.Must(err)
	b := &broker{held: make(map[string]job), more: make(chan struct{})}
	for {
		conn, err := listener.Accept()
		workers.Must(err)
		go b.serve(conn)
	}
}

func (b *broker) serve(conn net.Conn) {
	defer conn.Close()
	fmt.Fprint(conn, "+HI {\"v\":2}\r\n")
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		command, rest, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case "FETCH":
			fmt.Fprint(conn, bulk(b.fetch(strings.Fields(rest))))
		case "INFO":
			fmt.Fprint(conn, bulk(b.left()))
		case "END":
			return
		default:
			b.take(command, rest)
			fmt.Fprint(conn, "+OK\r\n")
		}
	}
}

func bulk(text string) string {
	if text == "" {
		return "$-1\r\n"
	}
	return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
}

// take carries out what is answered with OK. A job that has failed waits again.
func (b *broker) take(command, rest string) {
	j := job{text: rest}
	b.Lock()
	defer b.Unlock()
	switch command {
	case "PUSH":
		workers.Must(json.Unmarshal([]byte(rest), &j))
	case "ACK", "FAIL":
		workers.Must(json.Unmarshal([]byte(rest), &j))
		held := b.held[j.ID]
		delete(b.held, j.ID)
		if command == "ACK" {
			return
		}
		j = held
	default:
		return
	}
	b.waiting = append(b.waiting, j)
	close(b.more)
	b.more = make(chan struct{})
}

// fetch returns a job of one of the queues, or "" after two seconds.
func (b *broker) fetch(queues []string) string {
	over := time.After(2 * time.Second)
	for {
		b.Lock()
		for i, j := range b.waiting {
			if slices.Contains(queues, j.Queue) {
				b.waiting = append(b.waiting[:i:i], b.waiting[i+1:]...)
				b.held[j.ID] = j
				b.Unlock()
				return j.text
			}
		}
		more := b.more
		b.Unlock()
		select {
		case <-more:
		case <-over:
			return ""
		}
	}
}

// left has all jobs, in JSON.
func (b *broker) left() string {
	b.Lock()
	defer b.Unlock()
	all := map[string][]json.RawMessage{"waiting": {}, "held": {}}
	for _, j := range b.waiting {
		all["waiting"] = append(all["waiting"], json.RawMessage(j.text))
	}
	for _, j := range b.held {
		all["held"] = append(all["held"], json.RawMessage(j.text))
	}
	text, err := json.Marshal(all)
	workers.Must(err)
	return string(text)
}
