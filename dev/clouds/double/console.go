package double

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ConsolePath is where a [Server] is looked into and troubled: below it,
//
//	GET    instances        what the cloud has, as [Listed]
//	GET    requests         how often each operation was asked for
//	GET    log?after=1000   the requests after the first so many, as a [Log]; it remembers the last 10,000 at least
//	GET    faults           those that are left; POST adds a [Fault], DELETE forgets all
//	POST   limits           adds a [Limit]
//	POST   advance?by=10s   lets time pass
//	POST   do/<verb>?on=<what>   asks the cloud for one of its [Verb]s
const ConsolePath = "/_double/"

// Listed is an instance as people see it.
type Listed struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
	Zone  string `json:"zone,omitempty"`
	Type  string `json:"type,omitempty"`
	// Dependants are what was made for it and costs money: disks, NICs, addresses.
	Dependants []string          `json:"dependants,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// Verb is something that happens to what a cloud has, around its API.
type Verb struct {
	// Name is a word: "interrupt", "terminate", "stop", "exhaust", "lag".
	Name string `json:"name"`
	// On says what it is done to: "an instance's ID", "zone[/type]", "a duration".
	On string `json:"on"`
}

// Inspected is a [Cloud] that people can look into.
type Inspected interface {
	Instances() []Listed
	// Orphans are dependants without an instance.
	Orphans() []string
	Verbs() []Verb
	// Do does a verb; what it cannot be done to is an error.
	Do(verb, on string) error
}

// state is what the console shows.
type state struct {
	Instances []Listed `json:"instances"`
	Orphans   []string `json:"orphans"`
	Verbs     []Verb   `json:"verbs"`
}

var errNoConsole = errors.New("this double has no console")

func (s *Server) console(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, ConsolePath)
	answer, err := s.ask(r, name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *Server) ask(r *http.Request, name string) (any, error) {
	switch r.Method + " " + name {
	case "GET requests":
		return s.Counts(), nil
	case "GET log":
		n, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("after"), "0"))
		return s.After(n), err
	case "GET faults":
		return s.faults.all(), nil
	case "DELETE faults":
		s.Heal()
		return s.faults.all(), nil
	case "POST faults":
		var f Fault
		err := json.NewDecoder(r.Body).Decode(&f)
		if err == nil {
			s.Inject(f)
		}
		return s.faults.all(), err
	case "POST limits":
		var l Limit
		err := json.NewDecoder(r.Body).Decode(&l)
		if err == nil {
			s.Limit(l)
		}
		return l, err
	case "POST advance":
		by, err := time.ParseDuration(r.URL.Query().Get("by"))
		s.Clock.Advance(by)
		return s.Clock.Now(), err
	}
	return s.inspect(r, name)
}

func (s *Server) inspect(r *http.Request, name string) (any, error) {
	inspected, ok := s.cloud.(Inspected)
	if !ok {
		return nil, errNoConsole
	}
	if verb, ok := strings.CutPrefix(name, "do/"); ok && r.Method == http.MethodPost {
		if err := inspected.Do(verb, r.URL.Query().Get("on")); err != nil {
			return nil, err
		}
	} else if r.Method+" "+name != "GET instances" {
		return nil, errors.New("no such page: " + r.Method + " " + name)
	}
	return state{Instances: inspected.Instances(), Orphans: inspected.Orphans(), Verbs: inspected.Verbs()}, nil
}
