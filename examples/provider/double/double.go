// Package double simulates the API of Larch with its deficiencies: listings have pages and lag, names of machines are not unique,
// operations take time, and an accepted request may fail later. The simulator keeps running while a test restarts the provider.
package double

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider/providertest"
)

// The durations of the creation and the deletion of a machine.
const (
	bootTime = 5 * time.Second
	endTime  = 3 * time.Second
)

// Larch is the simulated cloud.
type Larch struct {
	// PerPage is the number of items of a page, Lagging the delay of listings.
	PerPage int
	Lagging time.Duration

	now func() time.Time

	mu       sync.Mutex
	skipped  time.Duration
	accounts map[string]string // by token
	machines []*thing
	disks    []*thing
	faults   map[string]providertest.Fault // by call: "GET machines"
}

// New returns a cloud with one account, whose token is "secret".
func New(now func() time.Time) *Larch {
	return &Larch{PerPage: 50, now: now, accounts: map[string]string{"secret": "account-1"}, faults: map[string]providertest.Fault{}}
}

// thing is a machine or a disk. Its state is a function of the time, so a listing that lags shows an earlier state.
type thing struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Type    string            `json:"type,omitempty"`
	Zone    string            `json:"zone"`
	Image   string            `json:"image,omitempty"`
	Tags    map[string]string `json:"tags"`
	Created time.Time         `json:"created"`

	State     string `json:"state,omitempty"`
	Address   string `json:"address,omitempty"`
	Operation string `json:"operation,omitempty"`
	Disk      string `json:"disk,omitempty"`
	Machine   string `json:"machine,omitempty"`

	account        string
	failed, ended  time.Time
	booting, going time.Duration // 0 for disks
	with           *thing        // the machine that uses the disk
}

// at returns the state at a time; false if the thing did not exist then.
func (t *thing) at(when time.Time) (thing, bool) {
	now := *t
	if t.with != nil {
		if _, there := t.with.at(when); there {
			now.Machine = t.with.ID
		} else if !when.Before(t.with.Created) {
			return now, false // Larch deleted it with the machine
		}
	}
	after := func(moment time.Time) bool { return !moment.IsZero() && !when.Before(moment) }
	switch {
	case !after(t.Created), after(t.ended) && after(t.ended.Add(t.going)):
		return now, false
	case after(t.ended):
		now.State = "deleting"
	case after(t.failed):
		now.State = "error"
	case !after(t.Created.Add(t.booting)):
		now.State = "creating"
	default:
		now.State = "running"
	}
	return now, true
}

func (l *Larch) time() time.Time { return l.now().Add(l.skipped) }

// ServeHTTP serves one request.
func (l *Larch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in thing
	_ = json.NewDecoder(r.Body).Decode(&in) // the body of a read is null
	what, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	call := r.Method + " " + what

	l.mu.Lock()
	f := l.faults[call]
	if f.Partial > 0 && r.URL.Query().Get("page") == "0" {
		f = providertest.Fault{} // the first page succeeds, the next one fails
	} else {
		delete(l.faults, call)
	}
	status, answer := refuse(http.StatusUnauthorized, "token", "the token is not valid")
	account, known := l.accounts[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if known && (f.Done || f.Kind == "" && !f.Stall) {
		status, answer = l.do(call, account, id, in, r)
	}
	l.skipped += f.Slow
	l.mu.Unlock()

	switch {
	case f.Stall:
		<-r.Context().Done()
		return
	case f.Done && f.Kind != "":
		panic(http.ErrAbortHandler) // the client gets no response
	case f.Kind != "":
		w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
		status, answer = words(f)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(status int, code, message string) (int, any) {
	return status, map[string]string{"code": code, "message": message}
}

func (l *Larch) do(call, account, id string, in thing, r *http.Request) (int, any) {
	in.account, in.Created, in.ID = account, l.time(), ""
	switch call {
	case "GET account":
		return http.StatusOK, map[string]string{"id": account}
	case "POST disks":
		return l.createDisk(&in)
	case "POST machines":
		return l.createMachine(&in)
	case "GET operations":
		if m := find(l.machines, account, strings.TrimPrefix(id, "op-"), l.time()); m != nil {
			_, why := refuse(0, "zone_full", "the zone has no more capacity")
			return http.StatusOK, map[string]any{"id": id, "error": why}
		}
	case "GET machines", "GET disks", "DELETE machines", "DELETE disks":
		all := l.machines
		if strings.HasSuffix(call, "disks") {
			all = l.disks
		}
		t := find(all, account, id, l.time())
		switch {
		case id == "":
			return l.list(all, account, r)
		case t == nil:
		case r.Method == http.MethodGet:
			now, _ := t.at(l.time())
			return http.StatusOK, now
		case t.with != nil:
			return refuse(http.StatusConflict, "in_use", "a machine uses the disk")
		default:
			if t.ended.IsZero() {
				t.ended = l.time()
			}
			return http.StatusAccepted, map[string]string{"operation": "op-" + id}
		}
	}
	return refuse(http.StatusNotFound, "not_found", r.URL.Path+" does not exist")
}

func find(all []*thing, account, id string, now time.Time) *thing {
	for _, t := range all {
		if _, there := t.at(now); there && t.ID == id && t.account == account {
			return t
		}
	}
	return nil
}

func (l *Larch) createDisk(d *thing) (int, any) {
	for _, other := range l.disks {
		if _, there := other.at(l.time()); there && other.account == d.account && other.Name == d.Name {
			return http.StatusConflict, map[string]string{"code": "name_taken", "id": other.ID, "message": "another disk has that name"}
		}
	}
	return l.addDisk(d)
}

func (l *Larch) addDisk(d *thing) (int, any) {
	d.ID = fmt.Sprintf("d-%06d", len(l.disks)+1)
	l.disks = append(l.disks, d)
	return http.StatusAccepted, *d
}

func (l *Larch) createMachine(m *thing) (int, any) {
	d := find(l.disks, m.account, m.Disk, l.time())
	switch {
	case d == nil || d.Zone != m.Zone:
		return refuse(http.StatusNotFound, "not_found", "the zone has no such disk")
	case d.with != nil:
		return refuse(http.StatusConflict, "in_use", "a machine uses the disk")
	}
	d.with = l.addMachine(m)
	now, _ := m.at(l.time())
	return http.StatusAccepted, now
}

func (l *Larch) addMachine(m *thing) *thing {
	n := len(l.machines) + 1
	m.ID, m.Address = fmt.Sprintf("m-%06d", n), fmt.Sprintf("192.0.2.%d", n%250+1)
	m.Operation, m.booting, m.going = "op-"+m.ID, bootTime, endTime
	l.machines = append(l.machines, m)
	return m
}

func (l *Larch) list(all []*thing, account string, r *http.Request) (int, any) {
	items := []thing{}
	for _, t := range all {
		now, there := t.at(l.time().Add(-l.Lagging))
		if there && now.account == account && now.matches(r) {
			items = append(items, now)
		}
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	pages := slices.Collect(slices.Chunk(items, l.PerPage))
	answer := map[string]any{"items": []thing{}}
	if page < len(pages) {
		answer["items"] = pages[page]
	}
	if page+1 < len(pages) {
		answer["next"] = strconv.Itoa(page + 1)
	}
	return http.StatusOK, answer
}

func (t thing) matches(r *http.Request) bool {
	for key := range maps.Keys(r.URL.Query()) {
		tag, isTag := strings.CutPrefix(key, "tag.")
		value := r.URL.Query().Get(key)
		if isTag && t.Tags[tag] != value || key == "name" && t.Name != value {
			return false
		}
	}
	return true
}
