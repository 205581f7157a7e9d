package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// lives are all instances that the infrastructure ever had, by the UID of their machine.
type lives struct {
	mu sync.Mutex
	of map[string]map[string]bool
}

// watch watches the infrastructure until the test ends. It sees every instance, because an instance takes 500 ms to end.
func (l *lives) watch(t *testing.T, w truth) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, d := range dialects {
				instances, err := w.console.Instances(ctx, d.cluster)
				if err != nil && ctx.Err() == nil {
					t.Error("look at the infrastructure:", err)
					return
				}
				for _, i := range instances {
					l.saw(i.UID+i.Name, i.ID+" of "+i.Created.Format(time.RFC3339Nano))
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

func (l *lives) saw(machine, instance string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[machine] == nil {
		l.of[machine] = map[string]bool{}
	}
	l.of[machine][instance] = true
}

// several returns the machines that had more than one instance at any time.
func (l *lives) several() (wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for machine, all := range l.of {
		if len(all) > 1 {
			wrong = append(wrong, fmt.Sprintf("machine %s had the instances %v", machine, slices.Sorted(maps.Keys(all))))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// call is a line of the log of the infrastructure's calls.
type call struct{ What, Verb, UID, Machine, Error string }

// called returns the calls after an offset of the log, and the present end of the log. Programs that do not know the flag write
// no log.
func called(file string, after int64) (all []call, end int64, err error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1] // an incomplete line is read the next time
	for line := range strings.Lines(string(raw[after:])) {
		var c call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", line, err)
		}
		all = append(all, c)
	}
	return all, int64(len(raw)), nil
}

// uncalledFor returns the wrong calls: the creation of an instance for a machine that has one, and the deletion of the instance
// of a machine without a deletionTimestamp.
func uncalledFor(before sight, calls []call) (wrong []string) {
	names := map[string]string{}
	for name, m := range before.Machines {
		names[m.UID] = name
	}
	for _, c := range calls {
		m, known := before.Machines[names[c.UID]]
		switch {
		case !known || c.What != "call":
		case c.Verb == "create" && len(m.Instances) > 0:
			wrong = append(wrong, "an instance was asked for by "+c.Machine+", which has one")
		case c.Verb == "delete" && !m.Leaving:
			wrong = append(wrong, "the instance of "+c.Machine+" was to be deleted")
		}
	}
	return wrong
}

// createdTwice returns the machines for which more than one creation returned an instance.
func createdTwice(calls []call) (wrong []string) {
	created := map[string]int{}
	for _, c := range calls {
		if c.What == "reply" && c.Verb == "create" && c.Error == "" {
			created[c.Machine+" "+c.UID]++
		}
	}
	for machine, n := range created {
		if n > 1 {
			wrong = append(wrong, fmt.Sprintf("%d creations succeeded for machine %s", n, machine))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// writes counts the writes of both programs after an offset of the audit log, by object, and returns the end of the log.
func (u *upgrade) writes(after int64) (counts map[string]int, end int64, err error) {
	log, err := os.Open(u.Plane.AuditLog())
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	if _, err := log.Seek(after, 0); err != nil {
		return nil, 0, err
	}
	counts, end = map[string]int{}, after
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // an incomplete line is read the next time
			return counts, end, nil
		}
		end += int64(len(line))
		if !isWriteOf(line, fleet.Machines) && !isWriteOf(line, fleet.Sets) {
			continue
		}
		var e struct {
			Verb, UserAgent string
			ObjectRef       struct{ Resource, Subresource, Name string }
			ResponseStatus  struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, 0, err
		}
		if e.ResponseStatus.Code >= http.StatusMultipleChoices { // for example an eviction that a budget refuses
			continue
		}
		program, _, _ := strings.Cut(e.UserAgent, "/")
		counts[strings.Join([]string{program, e.Verb, e.ObjectRef.Resource, e.ObjectRef.Subresource, e.ObjectRef.Name}, " ")]++
	}
}
