package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/test/history/checker"
)

// journal is the log of the infrastructure: the controllers append what they call, and this process what comes of it, and
// what it does itself.
type journal struct {
	path  string
	cloud string // the folder of the instances

	mu   sync.Mutex
	file *os.File
	seen map[string]*record // instances by ID
	err  error
}

// record is an instance as the provider keeps it in its folder.
type record struct {
	ID      string    `json:"id"`
	Cluster string    `json:"cluster"`
	UID     string    `json:"uid"`
	Node    string    `json:"node"`
	Created time.Time `json:"created"`
	Deleted time.Time `json:"deleted"`
	gone    bool
}

func newJournal(path, cloud string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of the infrastructure: %w", err)
	}
	return &journal{path: path, cloud: cloud, file: file, seen: map[string]*record{}}, nil
}

func (j *journal) write(e checker.Entry) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	j.err = errors.Join(j.err, err)
}

// mark writes down what the world did.
func (j *journal) mark(e checker.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.What = checker.Mark
	j.write(e)
}

// watch looks at the folder of the instances until ctx is done. An instance is there for longer than it takes to look: its
// class has it end slowly.
func (j *journal) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := j.look(); err != nil {
			return fmt.Errorf("watch the infrastructure: %w", err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

func (j *journal) look() error {
	files, err := filepath.Glob(filepath.Join(j.cloud, "clusters", "*", "machines", "*", "*.json"))
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	there := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var r record
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil {
			return err
		}
		there[r.ID] = true
		j.note(r)
	}
	for id, r := range j.seen {
		if !there[id] && !r.gone {
			r.gone = true
			j.write(r.entry(checker.Gone, time.Now()))
		}
	}
	return j.err
}

// note writes down what is new about an instance, at the time that the infrastructure itself has for it.
func (j *journal) note(r record) {
	before := j.seen[r.ID]
	if before == nil || before.gone {
		j.write(r.entry(checker.Made, r.Created))
		before = &record{}
	}
	if before.Deleted.IsZero() && !r.Deleted.IsZero() {
		j.write(r.entry(checker.Ending, r.Deleted))
	}
	j.seen[r.ID] = &r
}

func (r record) entry(what string, at time.Time) checker.Entry {
	return checker.Entry{At: at, What: what, Cluster: r.Cluster, UID: r.UID, Machine: r.Node, Instance: r.ID}
}

// instances are those that are there, by the UID of their machine.
func (j *journal) instances() map[string][]record {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[string][]record{}
	for _, r := range j.seen {
		if !r.gone {
			out[r.UID] = append(out[r.UID], *r)
		}
	}
	return out
}

// alive are the IDs of the instances that are there.
func (j *journal) alive() map[string]bool {
	out := map[string]bool{}
	for _, of := range j.instances() {
		for _, r := range of {
			out[r.ID] = true
		}
	}
	return out
}

// leftovers are the disks and network interfaces that are there.
func (j *journal) leftovers() (string, error) {
	var left []string
	for _, kind := range []string{"nic", "disk"} {
		found, err := filepath.Glob(filepath.Join(j.cloud, "clusters", "*", kind, "*"))
		if err != nil {
			return "", err
		}
		for _, f := range found {
			left = append(left, kind+" "+filepath.Base(f))
		}
	}
	return strings.Join(left, ", "), nil
}
