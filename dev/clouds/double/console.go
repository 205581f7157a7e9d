package double

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ConsolePath is the path of a [Server]'s console, which shows and changes the simulator. Below it:
//
//	GET    instances        the instances, as [Listed]
//	GET    requests         the number of requests of each operation
//	GET    log?after=1000   the requests after the first so many, as a [Log]; at least the last 10,000 are kept
//	GET    faults           the remaining faults; POST adds a [Fault], DELETE removes all
//	POST   limits           adds a [Limit]
//	POST   advance?by=10s   advances the clock
//	POST   do/<verb>?on=<what>   runs one of the cloud's [Verb]s
//	POST   do/plant?on=<instance>&old=new   creates a copy of an instance, with old replaced by new in its name and tags ([Planter])
//	POST   issue?account=<name>  issues credentials, of the first account without a name ([Lender]), and returns the replacements of texts
//	GET    lives            the instances since POST began to record them, as [Life]
const ConsolePath = "/_double/"

// Listed is an instance in a form for people.
type Listed struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
	Zone  string `json:"zone,omitempty"`
	Type  string `json:"type,omitempty"`
	// Handle is the name of the instance in the XML of requests, if it is neither ID nor Name.
	Handle string `json:"handle,omitempty"`
	// Account is the account of the instance, in a cloud with several.
	Account string `json:"account,omitempty"`
	// Dependants are the instance's resources that cost money: disks, NICs, addresses.
	Dependants []string          `json:"dependants,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// Inspected is a [Cloud] with a console.
type Inspected interface {
	Instances() []Listed
	// Orphans are dependants without an instance.
	Orphans() []string
	Verbs() []Verb
	// Do runs a verb.
	Do(verb, on string) error
}

// Exhaustible is a [Cloud] whose verbs "exhaust" and "restock" remove and restore the capacity of a place.
type Exhaustible interface {
	// Exhausted are the places without capacity, in the form that the verbs accept.
	Exhausted() []string
}

// state is the content of the console.
type state struct {
	Instances []Listed `json:"instances"`
	Orphans   []string `json:"orphans"`
	Exhausted []string `json:"exhausted,omitempty"`
	Verbs     []Verb   `json:"verbs"`
}

// Lender is a [Cloud] whose credentials can be revoked and issued again, as its administrators do.
type Lender interface {
	// Revoke revokes all credentials: keys and passwords, and the tokens and sessions that were issued for
	// them.
	Revoke()
	// Restore undoes Revoke.
	Restore()
	// Issue issues credentials: for the first account if the name is empty, otherwise for another account, which has the same
	// resources but not the same instances. It returns the replacements of texts in the samples.
	Issue(account string) (map[string]string, error)
}

// Planter is a [Cloud] in which tests can create an instance of another client.
type Planter interface {
	// PlantLike creates a running copy of the instance with the ID. rename changes its name, and the keys and
	// values of its tags.
	PlantLike(id string, rename func(string) string) error
}

// Places returns the sorted keys of a map that have the value.
func Places[V comparable](of map[string]V, value V) (all []string) {
	for place, v := range of {
		if v == value {
			all = append(all, place)
		}
	}
	slices.Sort(all)
	return all
}

// Renamed returns tags with renamed keys and values.
func Renamed(tags map[string]string, rename func(string) string) map[string]string {
	out := make(map[string]string, len(tags))
	for key, value := range tags {
		out[rename(key)] = rename(value)
	}
	return out
}

var errNoLender = errors.New("this simulator issues no credentials")

var errNoConsole = errors.New("this simulator has no console")

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
	case "POST lives":
		s.Remember()
		return s.Lives(), nil
	case "GET lives":
		return s.Lives(), nil
	case "POST issue":
		lender, ok := s.cloud.(Lender)
		if !ok {
			return nil, errNoLender
		}
		return lender.Issue(r.URL.Query().Get("account"))
	}
	return s.inspect(r, name)
}

func (s *Server) inspect(r *http.Request, name string) (any, error) {
	inspected, ok := s.cloud.(Inspected)
	if !ok {
		return nil, errNoConsole
	}
	if verb, ok := strings.CutPrefix(name, "do/"); ok && r.Method == http.MethodPost {
		if err := s.do(inspected, verb, r.URL.Query()); err != nil {
			return nil, err
		}
	} else if r.Method+" "+name != "GET instances" {
		return nil, errors.New("no such page: " + r.Method + " " + name)
	}
	s.look()
	all := state{Instances: inspected.Instances(), Orphans: inspected.Orphans(), Verbs: append(inspected.Verbs(), s.verbs()...)}
	if e, ok := inspected.(Exhaustible); ok {
		all.Exhausted = e.Exhausted()
	}
	return all, nil
}

// do runs a verb of [Server.verbs], or a verb of the cloud.
func (s *Server) do(cloud Inspected, verb string, query url.Values) error {
	s.look()
	on := query.Get("on")
	if _, ok := cloud.(Exhaustible); ok && on == "" && (verb == "exhaust" || verb == "restock") {
		return fmt.Errorf("%s: name the place, such as a zone", verb)
	}
	lender, lends := s.cloud.(Lender)
	planter, plants := s.cloud.(Planter)
	switch {
	case verb == "revoke" && lends:
		lender.Revoke()
	case verb == "restore" && lends:
		lender.Restore()
	case verb == "plant" && plants:
		return planter.PlantLike(on, renaming(query))
	default:
		return cloud.Do(verb, on)
	}
	return nil
}

// verbs are the verbs of [Server.do] itself.
func (s *Server) verbs() (all []Verb) {
	if _, ok := s.cloud.(Lender); ok {
		all = append(all, Verb{Name: "revoke", On: "all users: their logins are refused"}, Verb{Name: "restore", On: "all revoked users: they can log in again"})
	}
	return all
}

// renaming replaces the names of a query's parameters by their values, the longest first.
func renaming(query url.Values) func(string) string {
	var pairs []string
	for _, old := range slices.SortedFunc(maps.Keys(query), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
		if old != "on" && old != "" {
			pairs = append(pairs, old, query.Get(old))
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
