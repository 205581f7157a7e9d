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

	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

// journal is the log of the infrastructure. The controllers append their calls. This process appends the results, and its own
// actions.
type journal struct {
	path  string
	cloud string // the folder of the instances

	mu   sync.Mutex
	file *os.File
	seen record.Watch
	err  error
}

// kept is an instance as the provider stores it in its folder.
type kept struct {
	ID      string    `json:"id"`
	Cluster string    `json:"cluster"`
	UID     string    `json:"uid"`
	Node    string    `json:"node"`
	Created time.Time `json:"created"`
	Deleted time.Time `json:"deleted"`
	Traits  struct {
		DeleteLatency time.Duration `json:"deleteLatency"`
	} `json:"traits"`
}

func newJournal(path, cloud string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of the infrastructure: %w", err)
	}
	return &journal{path: path, cloud: cloud, file: file}, nil
}

func (j *journal) write(e checker.Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	j.err = errors.Join(j.err, err)
}

// mark records an action of the world.
func (j *journal) mark(e checker.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.What = checker.Mark
	j.write(e)
}

// watch watches the folder of the instances until ctx is done. The machine class delays the end of an instance, so that watch
// sees every instance.
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
	began := time.Now()
	files, err := filepath.Glob(filepath.Join(j.cloud, "clusters", "*", "machines", "*", "*.json"))
	if err != nil {
		return err
	}
	var all []record.Sight
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var r kept
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil {
			return err
		}
		seen := record.Sight{ID: r.ID, Cluster: r.Cluster, UID: r.UID, Machine: r.Node, Made: r.Created, Ending: r.Deleted}
		if !r.Deleted.IsZero() { // the file stays until a caller asks for the instance
			seen.Over = r.Deleted.Add(r.Traits.DeleteLatency)
		}
		all = append(all, seen)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.seen.Look(began, time.Now(), all) {
		j.write(e)
	}
	return j.err
}

// living returns the existing instances.
func (j *journal) living() []record.Sight {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seen.Living()
}

// instances returns the existing instances, by the UID of their machine.
func (j *journal) instances() map[string][]record.Sight {
	out := map[string][]record.Sight{}
	for _, s := range j.living() {
		out[s.UID] = append(out[s.UID], s)
	}
	return out
}

// alive returns the IDs of the existing instances.
func (j *journal) alive() map[string]bool {
	out := map[string]bool{}
	for _, s := range j.living() {
		out[s.ID] = true
	}
	return out
}

// leftovers returns the existing disks and network interfaces.
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
