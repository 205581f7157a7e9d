package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// write is a request that changes something.
type write struct {
	// Asked is when it arrived, Done when it was answered.
	Asked, Done time.Time
	Verb        string
	Agent       string
	Resource    string
	Name        string
	Code        int
}

// what is the kind of the write: "patch machines/status".
func (w write) what() string { return w.Verb + " " + w.Resource }

func (w write) ok() bool { return w.Code < 300 }

func (w write) by(program string) bool { return strings.HasPrefix(w.Agent, program+"/") }

// is reports whether it is a successful write of one of the kinds.
func (w write) is(kinds ...string) bool {
	for _, k := range kinds {
		if w.ok() && w.what() == k {
			return true
		}
	}
	return false
}

// auditLog reads the API server's audit log while it grows, and keeps the writes
// except those of leases.
type auditLog struct {
	path   string
	offset int64
	writes []write
	// renewals counts how often the lease of a node was renewed.
	renewals int
}

// entry is the part of an audit.k8s.io/v1 Event that the bench reads.
type entry struct {
	RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time `json:"stageTimestamp"`
	Verb                     string    `json:"verb"`
	UserAgent                string    `json:"userAgent"`
	ObjectRef                struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// text recognizes reads and leases in the text, because decoding them would cost more
// than everything else here.
var (
	reads  = [][]byte{[]byte(`"verb":"get"`), []byte(`"verb":"list"`), []byte(`"verb":"watch"`)}
	leases = []byte(`"resource":"leases"`)
	// renewed is the text that all renewals of nodes' leases contain, except
	// creations.
	renewed = [][]byte{[]byte(`"namespace":"kube-node-lease"`), []byte(`"code":200`)}
)

// read reads what was appended since the last call. It leaves a last line without an
// end for the next call.
func (l *auditLog) read() error {
	f, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		l.offset += int64(len(line))
		if err := l.take(line); err != nil {
			return err
		}
	}
}

func (l *auditLog) take(line []byte) error {
	for _, text := range reads {
		if bytes.Contains(line, text) {
			return nil
		}
	}
	if bytes.Contains(line, leases) {
		if bytes.Contains(line, renewed[0]) && bytes.Contains(line, renewed[1]) {
			l.renewals++
		}
		return nil
	}
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("a line of the audit log: %w", err)
	}
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	l.writes = append(l.writes, write{
		Asked: e.RequestReceivedTimestamp, Done: e.StageTimestamp, Verb: e.Verb, Agent: e.UserAgent,
		Resource: resource, Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code,
	})
	return nil
}

// eviction is repeated again and again while a drain is blocked.
const eviction = "create pods/eviction"

// last is the latest write that is neither an eviction nor a heartbeat; the zero write
// if there is no such write.
func (l *auditLog) last() write {
	for _, w := range slices.Backward(l.writes) {
		if w.what() != eviction && !w.by(heart) {
			return w
		}
	}
	return write{}
}

// since are the writes answered at t or later.
func (l *auditLog) since(t time.Time) []write {
	var out []write
	for _, w := range l.writes {
		if !w.Done.Before(t) {
			out = append(out, w)
		}
	}
	return out
}
