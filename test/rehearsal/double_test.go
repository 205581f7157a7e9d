package rehearsal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/millwright-dev/millwright/internal/verify/record"
)

// ask requests a page of the control interface of the simulator.
func (s *story) ask(method, page string, into any) {
	s.t.Helper()
	raw, err := s.fleet.Cloud.Ask(s.t.Context(), method, page, nil)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		s.t.Fatalf("%s: request %s from the simulator: %v", s.chapter, page, err)
	}
}

func (s *story) post(page string) { s.t.Helper(); s.ask(http.MethodPost, page, nil) }

// lives returns all instances that ever existed, the oldest first.
func (s *story) lives() []record.Life {
	s.t.Helper()
	all, err := record.Lives(s.t.Context(), s.fleet.Cloud)
	if err != nil {
		s.t.Fatalf("%s: %v", s.chapter, err)
	}
	return all
}

// living returns the existing instances of a machine, or all if the UID is empty.
func (s *story) living(uid string) (all []record.Life) {
	s.t.Helper()
	for _, i := range s.lives() {
		if i.Lives() && (uid == "" || i.UID() == uid) {
			all = append(all, i)
		}
	}
	return all
}

// plant creates a copy of an instance as another client of the cloud would, and returns it. In its name and tags, the second of
// each pair replaces the first. Its node is deleted, because it does not join this cluster.
func (s *story) plant(like record.Life, pairs ...string) record.Life {
	s.t.Helper()
	before := map[string]bool{}
	for _, i := range s.lives() {
		before[i.Key()] = true
	}
	query := url.Values{"on": {like.ID}}
	for n := 0; n < len(pairs); n += 2 {
		query.Set(pairs[n], pairs[n+1])
	}
	s.post("do/plant?" + query.Encode())
	for _, i := range s.lives() {
		if !before[i.Key()] && i.Name == strings.NewReplacer(pairs...).Replace(like.Name) {
			s.unjoin()
			return i
		}
	}
	s.t.Fatalf("%s: nothing was planted", s.chapter)
	return record.Life{}
}

// issue requests credentials from the simulator. It returns the replacements of texts in the samples.
func (s *story) issue(account string) (replaced map[string]string) {
	s.t.Helper()
	s.ask(http.MethodPost, "issue?account="+url.QueryEscape(account), &replaced)
	return replaced
}

func query(text string) string { return url.QueryEscape(text) }

// calls withholds the answer to a call of the cloud that changes a resource.
type calls struct {
	*story
	before int // the number of requests that the simulator had answered
}

func (c *calls) set(n int) {
	c.t.Helper()
	c.ask(http.MethodDelete, "faults", nil)
	if n == 0 {
		return
	}
	c.before, _ = c.answered(1 << 40)
	raw, err := json.Marshal(map[string]any{"writes": true, "done": true, "stall": true, "times": 1, "skip": n - 1})
	if err == nil {
		_, err = c.fleet.Cloud.Ask(c.t.Context(), http.MethodPost, "faults", raw)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *calls) hit() bool {
	c.t.Helper()
	var faults []any
	c.ask(http.MethodGet, "faults", &faults)
	return len(faults) == 0
}

func (c *calls) what() (what string) {
	c.t.Helper()
	c.until("the simulator notices that the controller has ended", func() string {
		if _, what = c.answered(c.before); what == "" {
			return "no call is without an answer"
		}
		return ""
	})
	return what
}

// answered returns the number of requests that the simulator has answered, and the call after the first so many that changed a
// resource and has no answer.
func (c *calls) answered(after int) (n int, lost string) {
	c.t.Helper()
	var log struct {
		Answered int
		Requests []struct {
			Operation string
			Writes    bool
			Status    int
		}
	}
	c.ask(http.MethodGet, fmt.Sprintf("log?after=%d", after), &log)
	for _, r := range log.Requests {
		if r.Writes && r.Status == 0 {
			lost = r.Operation
		}
	}
	return log.Answered, lost
}
