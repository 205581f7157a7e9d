package rehearsal

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// instance is one as the double tells of it.
type instance struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	State   string            `json:"state"`
	Account string            `json:"account"`
	Tags    map[string]string `json:"tags"`
	// Ended is when it was gone; zero while it lives.
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended"`
}

func (i instance) lives() bool { return i.Ended.IsZero() }

// uid is that of the machine that it was made for, which all clouds have under a key of that end.
func (i instance) uid() string {
	for key, value := range i.Tags {
		if strings.HasSuffix(key, "machine-uid") {
			return value
		}
	}
	return ""
}

// ask asks the double's console for a page.
func (s *story) ask(method, page string, into any) {
	s.t.Helper()
	raw, err := s.fleet.Cloud.Ask(s.t.Context(), method, page, nil)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		s.t.Fatalf("%s: ask the double for %s: %v", s.chapter, page, err)
	}
}

func (s *story) post(page string) { s.t.Helper(); s.ask(http.MethodPost, page, nil) }

// lives are all instances that there ever were, the oldest first.
func (s *story) lives() (all []instance) {
	s.t.Helper()
	s.ask(http.MethodGet, "lives", &all)
	return all
}

// living are the instances of a machine, or all for no UID.
func (s *story) living(uid string) (all []instance) {
	s.t.Helper()
	for _, i := range s.lives() {
		if i.lives() && (uid == "" || i.uid() == uid) {
			all = append(all, i)
		}
	}
	return all
}

// left is what was made for instances and has none.
func (s *story) left() []string {
	s.t.Helper()
	var state struct{ Orphans []string }
	s.ask(http.MethodGet, "instances", &state)
	return state.Orphans
}

// plant lets somebody else make an instance like another, in whose name and tags each first of a pair is replaced by its
// second, and returns it. Its node is taken away: it does not join this cluster.
func (s *story) plant(like instance, pairs ...string) instance {
	s.t.Helper()
	before := map[string]bool{}
	for _, i := range s.lives() {
		before[i.Account+i.ID] = true
	}
	query := url.Values{"on": {like.ID}}
	for n := 0; n < len(pairs); n += 2 {
		query.Set(pairs[n], pairs[n+1])
	}
	s.post("do/plant?" + query.Encode())
	for _, i := range s.lives() {
		if !before[i.Account+i.ID] && i.Name == strings.NewReplacer(pairs...).Replace(like.Name) {
			s.unjoin()
			return i
		}
	}
	s.t.Fatalf("%s: nothing was planted", s.chapter)
	return instance{}
}

// issue makes the double issue credentials, and says what replaces what stands in the samples.
func (s *story) issue(account string) (replaced map[string]string) {
	s.t.Helper()
	s.ask(http.MethodPost, "issue?account="+url.QueryEscape(account), &replaced)
	return replaced
}

func query(text string) string { return url.QueryEscape(text) }
